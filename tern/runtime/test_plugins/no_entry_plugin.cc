// SPDX-License-Identifier: Apache-2.0
//
// A shared object that is no plugin.
extern "C" __attribute__((visibility("default"))) int not_a_tern_plugin() { return 0; }
