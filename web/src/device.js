// SPDX-License-Identifier: Apache-2.0

import { check, runtimeError, TernError } from "./error.js";
import { DeviceMemory, Workspace } from "./memory.js";
import { Place } from "./tensor.js";

const kScalarsBytes = 65536, kFeatures = ["shader-f16", "subgroups"], kLimits = /^max(Buffer|Storage|Compute)/;

/** What the words of a launch say (CheckKernel in tern/runtime/core_functions.cc): the number of a text, or 0, and values in it. */
function failureOf(words, texts) {
  const number = words.getInt32(0, true);
  if (number === 0) return null;
  const text = texts[number - 1], colon = text.indexOf(": ");
  let at = -4;
  const message = text.slice(colon + 2).replace(/\x01([if])/g, (_, type) => {
    at += 8;
    return type === "f" ? Number(words.getFloat32(at, true).toPrecision(6)) : words.getBigInt64(at, true);
  });
  return new TernError(text.slice(0, colon), message);
}

/** Commands of one submission. Scalars of all launches go over at once. */
class Commands {
  #gpu;
  #encoder = null;
  #pass = null;
  #values = new DataView(new ArrayBuffer(kScalarsBytes));
  #used = 0;

  constructor(gpu) {
    this.#gpu = gpu;
    this.scalars = gpu.createBuffer({ size: kScalarsBytes, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
  }

  pass() {
    this.#encoder ??= this.#gpu.createCommandEncoder();
    return this.#pass ??= this.#encoder.beginComputePass();
  }
  #endPass() {
    this.#pass?.end();
    this.#pass = null;
  }

  copy(from, to, bytes, offset = 0) {
    this.pass();
    this.#endPass();
    this.#encoder.copyBufferToBuffer(from.buffer, offset, to.buffer, 0, bytes);
  }

  /** Where in `scalars` they are. `put` writes them at a place of a DataView. */
  addScalars(bytes, put) {
    const step = this.#gpu.limits.minUniformBufferOffsetAlignment, room = Math.ceil(bytes / step) * step;
    check(room <= kScalarsBytes, () => `${bytes} bytes of scalars are more than ${kScalarsBytes}`);
    if (this.#used + room > kScalarsBytes) this.submit();
    const at = this.#used;
    this.#used += room;
    put(this.#values, at);
    return at;
  }

  submit() {
    const { queue } = this.#gpu, encoder = this.#encoder;
    this.#endPass();
    if (encoder && this.#used) queue.writeBuffer(this.scalars, 0, this.#values.buffer, 0, this.#used);
    if (encoder) queue.submit([encoder.finish()]);
    this.#encoder = null;
    this.#used = 0;
  }
}

export class Device extends Place {
  #lost = null;
  #errors = [];
  #batches = 0;
  #pipelines = new Map();
  #checks = []; // of launches that are not submitted yet
  #looking = new Set(); // promises of those that are
  #failures = []; // of asserts in kernels

  constructor(gpu) {
    super("webgpu", (bytes, data) => new DeviceMemory(this, bytes, data));
    this.gpu = gpu;
    this.commands = new Commands(gpu);
    this.workspace = new Workspace(this);
    this.lost = gpu.lost.then(({ reason, message }) => this.#lost ??= message || reason || "no reason was given");
    gpu.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#errors.push(event.error.message);
    });
  }

  check() {
    if (this.#lost) throw runtimeError(`the WebGPU device was lost: ${this.#lost}; tern.init() gives a new one`);
  }

  /** Of {name, wgsl, layout, entries, constants}, at once. */
  makePipeline({ wgsl, layout, constants }, make = "createComputePipeline") {
    const compute = { module: this.gpu.createShaderModule({ code: wgsl }), entryPoint: "main", constants };
    return [this.gpu[make]({ layout: this.gpu.createPipelineLayout({ bindGroupLayouts: [layout] }), compute }), compute.module];
  }

  /** A promise of it. */
  pipeline(description) {
    const { wgsl, entries, constants } = description, key = JSON.stringify([wgsl, entries, constants]);
    if (!this.#pipelines.has(key)) this.#pipelines.set(key, this.#compile(description));
    return this.#pipelines.get(key);
  }

  async #compile(description) {
    this.gpu.pushErrorScope("validation");
    const [pipeline, module] = this.makePipeline(description, "createComputePipelineAsync"), scope = this.gpu.popErrorScope();
    try {
      return await pipeline;
    } catch (error) {
      const { messages } = await module.getCompilationInfo();
      const lines = messages.filter(({ type }) => type === "error").map((m) => `\n  line ${m.lineNum}:${m.linePos}: ${m.message}`);
      throw runtimeError(`kernel ${description.name} cannot be compiled: ${error.message}${lines.join("")}`);
    } finally {
      await scope.catch(() => {});
    }
  }

  async readBuffer(buffer, offset, bytes) {
    this.flush();
    const { gpu } = this, encoder = gpu.createCommandEncoder();
    const to = gpu.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(buffer, offset, to, 0, bytes);
    gpu.queue.submit([encoder.finish()]);
    const failure = await to.mapAsync(GPUMapMode.READ).catch((error) => error);
    await this.#throwErrors();
    if (failure) throw runtimeError(`the memory cannot be read: ${failure.message}`);
    const result = new Uint8Array(to.getMappedRange()).slice();
    to.destroy();
    return result;
  }

  batch(body) {
    ++this.#batches;
    try {
      return body();
    } finally {
      if (--this.#batches === 0) this.flush();
    }
  }

  flush() {
    if (this.#lost) return;
    this.commands.submit();
    for (const check of this.#checks.splice(0)) {
      const looking = this.#look(check).catch(() => {}).finally(() => this.#looking.delete(looking)); // a lost device says so elsewhere
      this.#looking.add(looking);
    }
  }

  /** Remembers the words that launches before left of failed asserts; `texts` say what they mean. */
  checkLater(memory, byteOffset, words, texts) {
    const buffer = this.gpu.createBuffer({ size: 4 * words, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    this.commands.copy(memory, { buffer }, 4 * words, byteOffset);
    this.#checks.push({ buffer, texts });
  }

  async #look({ buffer, texts }) {
    await buffer.mapAsync(GPUMapMode.READ);
    const failure = failureOf(new DataView(buffer.getMappedRange()), texts);
    buffer.destroy();
    if (failure) this.#failures.push(failure);
  }

  async sync() {
    this.flush();
    this.check();
    await this.gpu.queue.onSubmittedWorkDone();
    await this.#throwErrors();
  }

  async #throwErrors() {
    await Promise.all(this.#looking);
    this.check();
    const [first] = this.#errors.splice(0), [failure] = this.#failures.splice(0);
    if (first) throw runtimeError(`WebGPU: ${first}`);
    if (failure) throw failure;
  }

  destroy() {
    this.#lost ??= "it was destroyed";
    this.gpu.destroy();
  }
}

export async function init({ device, powerPreference } = {}) {
  if (device) return new Device(device);
  if (!globalThis.navigator?.gpu)
    throw runtimeError("this browser has no WebGPU, or not for pages without https");
  const adapter = await navigator.gpu.requestAdapter({ powerPreference });
  if (!adapter) throw runtimeError("WebGPU has no device here");
  const requiredFeatures = kFeatures.filter((name) => adapter.features.has(name)), requiredLimits = {};
  for (const name in adapter.limits) if (kLimits.test(name)) requiredLimits[name] = adapter.limits[name];
  try {
    return new Device(await adapter.requestDevice({ requiredFeatures, requiredLimits }));
  } catch (error) {
    throw runtimeError(`WebGPU gives no device: ${error.message}`);
  }
}
