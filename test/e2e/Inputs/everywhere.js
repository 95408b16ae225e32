// SPDX-License-Identifier: Apache-2.0

// Calls the functions of everywhere.tir in a browser: what each gave.
import * as tern from "/web/tern.js";

export async function run(file) {
  const device = await tern.init(), { functions } = await tern.load(file, device);
  const x = Float32Array.from({ length: 100 }, (_, i) => i), results = {};
  for (const [name, where] of [["here", tern.host], ["on_webgpu", device]]) {
    const z = where.zeros([100]);
    functions[name](where.tensor(x), where.tensor(x), z);
    results[name] = (await z.data()).every((value, i) => value === 3 * i);
  }
  try {
    functions.on_opencl(device.tensor(x), device.tensor(x), device.zeros([100]));
  } catch (error) {
    results.on_opencl = error.message;
  }
  return results;
}
