// SPDX-License-Identifier: Apache-2.0
import { Artifact, signature } from "./artifact.js";
import { isFloat, parseType } from "./dtype.js";
import { TernError } from "./error.js";
import { HostCode } from "./host_code.js";
import { Kernel } from "./kernel.js";
import { Tensor } from "./tensor.js";

const kText = new TextDecoder();

/** The bytes of a file, and what to call it in messages. */
async function readSource(source, name) {
  if (source instanceof ArrayBuffer) return [new Uint8Array(source), name ?? "the file"];
  if (ArrayBuffer.isView(source)) return [new Uint8Array(source.buffer, source.byteOffset, source.byteLength), name ?? "the file"];
  const response = source instanceof Response ? source : await fetch(source).catch((error) => {
    throw new TernError("RuntimeError", `${source}: cannot be opened: ${error.message}`);
  });
  name ??= response.url.split("/").pop() || String(source);
  if (!response.ok) throw new TernError("RuntimeError", `${name}: cannot be opened: ${response.status} ${response.statusText}`);
  return [new Uint8Array(await response.arrayBuffer()), name];
}

/** A loaded file. `functions` has its functions by name. */
export class Module {
  #artifact;
  #host;
  #device;
  #imports;
  #kernels = new Map();
  #absent = new Map(); // kernels that cannot run here: why

  /** Of a URL, a Response or bytes. Without a device, functions of the host alone can be called. */
  static async load(source, device = null, name = undefined) {
    device?.check();
    const module = new Module(new Artifact(...await readSource(source, name)), device);
    await module.#prepare();
    return module;
  }

  constructor(artifact, device) {
    this.#artifact = artifact;
    this.#device = device;
    this.#imports = artifact.readImports();
    this.functions = Object.fromEntries(artifact.meta.functions.map((info) => [info.name, this.#function(info)]));
  }

  get name() {
    return this.#artifact.name;
  }
  get meta() {
    return this.#artifact.meta;
  }

  async #prepare() {
    this.#host = await HostCode.compile(this.#artifact.hostCode()).catch((error) => {
      throw new TernError(error.kind, `${this.name}: ${error.message}`);
    });
    for (const { name } of this.meta.functions)
      if (!this.#host.has(name)) throw new TernError("RuntimeError", `${this.name}: the host code has no function ${name}`);
    for (const { kind, kernels, payload } of this.#imports)
      for (const [name, info] of kernels) this.#addKernel(kind, name, info, payload.get(name));
    await Promise.all([...this.#kernels.values()].map((kernel) => kernel.prepare()));
  }

  #addKernel(kind, name, info, wgsl) {
    if (this.#kernels.has(name) || this.#absent.has(name)) return;
    if (kind !== "webgpu") this.#absent.set(name, `the ${kind} runtime is not loaded: browsers have none`);
    else if (!this.#device) this.#absent.set(name, "the webgpu runtime is not loaded: load the file with a device of tern.init()");
    else if (!wgsl) throw new TernError("ValueError", `${this.name}: kernel ${name} has no shader`);
    else this.#kernels.set(name, new Kernel(this.#device, name, info, kText.decode(wgsl)));
  }

  /** The shaders, by the names of their kernels. */
  get shaders() {
    return new Map(this.#imports.filter(({ kind }) => kind === "webgpu").flatMap(
      ({ payload }) => [...payload].map(([name, wgsl]) => [name, kText.decode(wgsl)])));
  }

  /** A function by its name. */
  get(name) {
    if (!Object.hasOwn(this.functions, name))
      throw new TernError("ValueError", `${this.name} has no function ${name}; it has ${Object.keys(this.functions).join(", ")}`);
    return this.functions[name];
  }

  #function(info) {
    const call = (...args) => this.#call(info, args);
    return Object.assign(call, { signature: signature(info), params: info.params });
  }

  #convert(info, i, value) {
    const param = info.params[i], where = `${info.name}: argument ${i}${param ? ` (${param.name})` : ""}`;
    if (value instanceof Tensor) {
      if (value.device !== "cpu") value.memory.checkAlive();
      if (value.device !== "cpu" && !value.memory.isOf(this.#device))
        throw new TernError("ValueError", `${where}: expected a tensor on the device that the file was loaded for`);
      return value;
    }
    if (value === null || value === undefined) return null;
    if (typeof value === "boolean") return value;
    if (typeof value === "bigint") {
      if (BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value) return BigInt.asIntN(64, value);
      throw new TernError("ValueError", `${where}: expected an integer of 64 bits, got ${value}`);
    }
    if (typeof value === "number") {
      const wantsFloat = param && !param.isTensor && isFloat(parseType(param.dtype));
      return Number.isSafeInteger(value) && !wantsFloat ? BigInt(value) : value;
    }
    throw new TernError("TypeError", `${where}: expected ${param?.isTensor ? "a tensor, as of device.tensor()" : "a number"}, got ${
      value.constructor?.name ?? typeof value}`);
  }

  #call(info, values) {
    const args = values.map((value, i) => this.#convert(info, i, value)), device = this.#device;
    device?.check();
    const memories = new Map(), outputs = args.filter((arg, i) => arg instanceof Tensor && info.params[i]?.isOutput);
    const environment = {
      handleOf: (memory) => (memories.set(memory.id, memory), memory.id),
      launch: (name, given, describe) => this.#launch(name, given, describe,
                                                      (id) => memories.get(id) ?? device.workspace.find(id)),
      allocate: (bytes) => device.workspace.take(bytes).id,
      free: (id) => device.workspace.giveBack(id),
    };
    const run = () => this.#host.call(info.name, args, outputs, environment);
    if (!device) return run();
    try {
      return device.batch(run);
    } finally {
      device.workspace.giveBackAll();
    }
  }

  #launch(name, values, describe, memoryOf) {
    const kernel = this.#kernels.get(name);
    if (!kernel)
      throw new TernError("RuntimeError", this.#absent.get(name) ??
                          `compiled code calls ${name}, which is neither in the module's imports nor registered`);
    kernel.launch(values, describe, memoryOf);
  }
}
