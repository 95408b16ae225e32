// SPDX-License-Identifier: Apache-2.0

const kArrays = { "<f4": Float32Array, "<i8": BigInt64Array };

/** The elements of a .npy file of version 1. */
export function readNpy(bytes) {
  const size = bytes[8] + 256 * bytes[9], header = new TextDecoder().decode(bytes.subarray(10, 10 + size));
  const array = kArrays[/'descr': '([^']*)'/.exec(header)[1]];
  return new array(Uint8Array.from(bytes.subarray(10 + size)).buffer);
}

/** The largest difference, in parts of the largest number. */
export function differenceOf(values, expected) {
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return expected.reduce((most, value, i) => Math.max(most, Math.abs(value - values[i])), 0) / largest;
}
