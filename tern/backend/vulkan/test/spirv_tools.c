/* SPDX-License-Identifier: Apache-2.0 */
/* All of libSPIRV-Tools-shared.so is in the archive that it is linked with. */
