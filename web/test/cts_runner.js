// SPDX-License-Identifier: Apache-2.0

// One call of the conformance suite (tools/tern/cts/executor.h, MakeImageExecutor), with tensors on the device. Files are read and
// written through the server that the page came from.
import { typeName } from "../src/dtype.js";
import { DeviceMemory } from "../src/memory.js";
import * as tern from "../tern.js";

let device = null;
const modules = new Map();

async function moduleOf(path) {
  if (!modules.has(path)) modules.set(path, await tern.load(path, device));
  return modules.get(path);
}

async function tensorOf({ memory, dtype, shape, strides, byte_offset: byteOffset }) {
  const bytes = new Uint8Array(await (await fetch(memory)).arrayBuffer());
  return new tern.Tensor("webgpu", new DeviceMemory(device, bytes.length, bytes),
                         { dtype: typeName(dtype[0], dtype[1]), shape, strides: strides.length ? strides : null, byteOffset });
}

const valueOf = (arg) => arg.memory ? tensorOf(arg) : arg.float !== undefined ? arg.float : BigInt(arg.int);

/** Makes the call; an empty text, or what went wrong. */
export async function run({ module, function: name, args }) {
  const values = [];
  try {
    device ??= await tern.init();
    const loaded = await moduleOf(module);
    for (const arg of args) values.push(await valueOf(arg));
    loaded.get(name)(...values);
    await device.sync();
    for (const [i, arg] of args.entries())
      if (arg.memory) await fetch(arg.memory, { method: "PUT", body: await values[i].memory.read(0, values[i].memory.byteLength) });
    return "";
  } catch (error) {
    return `${error.message}`;
  } finally {
    for (const value of values) value?.dispose?.();
  }
}
