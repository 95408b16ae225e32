// SPDX-License-Identifier: Apache-2.0
import { Artifact } from "./artifact.js";
import { isFloat } from "./dtype.js";
import { check, runtimeError, TernError, typeError } from "./error.js";
import { HostCode } from "./host_code.js";
import { bytesToText } from "./json.js";
import { Kernel } from "./kernel.js";
import { Model } from "./model.js";
import { Tensor } from "./tensor.js";

const kWeightsName = "tern_weights";

async function readSource(source, name) {
  const isBytes = source instanceof ArrayBuffer || ArrayBuffer.isView(source);
  name ??= isBytes ? "the file" : String(source.url ?? source);
  try {
    const response = isBytes ? new Response(source) : source instanceof Response ? source : await fetch(source);
    if (response.ok) return [new Uint8Array(await response.arrayBuffer()), name];
    throw new Error(`${response.status} ${response.statusText}`);
  } catch (error) {
    throw runtimeError(`${name}: cannot be opened: ${error.message}`);
  }
}

export class Module {
  #device;
  #host;
  #kernels = new Map(); // or why they cannot run here
  shaders = new Map(); // WGSL by the names of kernels

  static async load(source, device, name) {
    device?.check();
    const artifact = await Artifact.open(...await readSource(source, name)), module = new Module();
    module.#device = device;
    Object.assign(module, { name: artifact.name, meta: artifact.meta, isModel: artifact.isModel });
    for (const { kind, kernels, payload } of await artifact.readImports())
      for (const [kernel, info] of kernels) module.#kernels.set(kernel, module.#makeKernel(kind, kernel, info, payload.get(kernel)));
    module.#host = await HostCode.compile(await artifact.hostCode());
    module.functions = Object.fromEntries(module.meta.functions.map((info) => [info.name, module.#function(info)]));
    await Promise.all([...module.#kernels.values()].map((kernel) => kernel.prepare?.()));
    if (artifact.isModel && "main" in module.functions) module.model = new Model(module, device, await artifact.weight(kWeightsName));
    return module;
  }

  /** A tensor that stays as it is: host code has its copy. */
  keep(tensor) {
    if (tensor.device === "cpu") this.#host.keep(tensor.memory);
    return tensor;
  }

  #makeKernel(kind, name, info, code) {
    if (kind !== "webgpu") return `the ${kind} runtime is not loaded: browsers have none`;
    const wgsl = bytesToText(code);
    this.shaders.set(name, wgsl);
    return this.#device ? new Kernel(this.#device, name, info, wgsl) :
      "the webgpu runtime is not loaded: load the file with a device of tern.init()";
  }

  #function(info) {
    if (!this.#host.has(info.name)) throw runtimeError(`${this.name}: the host code has no function ${info.name}`);
    return Object.assign((...args) => this.#call(info, args), { params: info.params });
  }

  get(name) {
    check(Object.hasOwn(this.functions, name),
          () => `${this.name} has no function ${name}; it has ${Object.keys(this.functions).join(", ")}`);
    return this.functions[name];
  }

  #argument(value, param) {
    if (value instanceof Tensor) {
      if (value.device !== "cpu") value.memory.check(this.#device);
      return value;
    }
    if (typeof value === "boolean" || value === null) return value;
    if (typeof value === "bigint") {
      check(BigInt.asUintN(64, value) === value || BigInt.asIntN(64, value) === value,
            () => `expected an integer of 64 bits, got ${value}`);
      return BigInt.asIntN(64, value);
    }
    if (typeof value !== "number")
      throw typeError(`expected ${param?.is_tensor ? "a tensor, as of device.tensor()" : "a number"}, got ${value?.constructor.name}`);
    const wantsFloat = param && !param.is_tensor && isFloat(param.dtype);
    return Number.isSafeInteger(value) && !wantsFloat ? BigInt(value) : value;
  }

  #arguments({ name, params }, values) {
    return values.map((value, i) => {
      try {
        return this.#argument(value, params[i]);
      } catch (error) {
        throw new TernError(error.kind, `${name}: argument ${i}${params[i] ? ` (${params[i].name})` : ""}: ${error.message}`);
      }
    });
  }

  #call(info, values) {
    const device = this.#device, workspace = device?.workspace, memories = new Map();
    device?.check();
    const args = this.#arguments(info, values), outputs = args.filter((arg, i) => arg?.memory && info.params[i]?.is_output);
    const memoryOf = (id) => memories.get(id) ?? workspace.used.get(id);
    const run = () => this.#host.call(info.name, args, outputs, {
      handleOf: (memory) => (memories.set(memory.id, memory), memory.id),
      allocate: (bytes) => workspace.take(bytes).id,
      free: (id) => workspace.giveBack(id),
      launch: (name, given, describe) => this.#find(name).launch(given, describe, memoryOf),
      checkKernel: ({ memory, byteOffset, shape }, texts) => device.checkLater(memoryOf(memory), byteOffset, shape[0], texts),
    });
    try {
      return device ? device.batch(run) : run();
    } finally {
      workspace?.giveBackAll();
    }
  }

  #find(name) {
    const kernel = this.#kernels.get(name) ?? `compiled code calls ${name}, which is neither in the module's imports nor registered`;
    if (kernel instanceof Kernel) return kernel;
    throw runtimeError(kernel);
  }
}
