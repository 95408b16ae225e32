// SPDX-License-Identifier: Apache-2.0

// Tern in the browser: runs .tern files on WebGPU, and their host code as WebAssembly. docs/web.md is the manual, tern.d.ts has the types.
//
//     const device = await tern.init();
//     const { functions } = await tern.load("matmul.tern", device);
//     const c = device.zeros([n, m]);
//     functions.matmul(device.tensor(a, [n, k]), device.tensor(b, [k, m]), c);
//     const result = await c.data();
import { Module } from "./src/module.js";

export { Artifact } from "./src/artifact.js";
export { Device, init } from "./src/device.js";
export { fromFloats, toFloats } from "./src/dtype.js";
export { TernError } from "./src/error.js";
export { Module } from "./src/module.js";
export { hostTensor as tensor, hostZeros as zeros, Tensor } from "./src/tensor.js";

/** Loads a .tern file: a URL, a Response, an ArrayBuffer or a typed array. */
export const load = (source, device, options = {}) => Module.load(source, device, options.name);
