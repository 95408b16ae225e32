// SPDX-License-Identifier: Apache-2.0

// Tern in the browser: .tern files on WebGPU, their host code as WebAssembly. docs/web.md is the manual.
import { Module } from "./src/module.js";

export { Artifact } from "./src/artifact.js";
export { Device, init } from "./src/device.js";
export { fromFloats, toFloats } from "./src/dtype.js";
export { TernError } from "./src/error.js";
export { host, Tensor } from "./src/tensor.js";
export { Module };

export const load = (source, device = null, { name } = {}) => Module.load(source, device, name);
