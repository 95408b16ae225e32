// SPDX-License-Identifier: Apache-2.0

// Tern in the browser: .tern files on WebGPU, their host code as WebAssembly. docs/web.md is the manual.
import { runtimeError } from "./src/error.js";
import { Module } from "./src/module.js";

export { Artifact } from "./src/artifact.js";
export { Device, init } from "./src/device.js";
export { fromFloats, toFloats } from "./src/dtype.js";
export { TernError } from "./src/error.js";
export { host, Tensor } from "./src/tensor.js";
export { Model } from "./src/model.js";
export { Module };

/** A model of `tern compile --executor=aot`. */
export const loadModel = async (source, device = null, { name } = {}) => {
  const module = await Module.load(source, device, name);
  if (!module.model) throw runtimeError(`${module.name} has no function main of a model; compile it with --executor=aot`);
  return module.model;
};

export const load = (source, device = null, { name } = {}) => Module.load(source, device, name);
