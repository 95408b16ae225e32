// SPDX-License-Identifier: Apache-2.0

// A WebGPU device: its memory, its pipelines, and the commands that wait to be submitted.
import { check, runtimeError } from "./error.js";
import { DeviceMemory, Workspace } from "./memory.js";
import { Place } from "./tensor.js";

const kScalarsBytes = 65536, kFeatures = ["shader-f16", "subgroups"], kLimits = /^max(Buffer|Storage|Compute)/;

/** Commands of one submission. Scalars of all its launches go over in one write. */
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

  copy(from, to, bytes) {
    this.#encoder ??= this.#gpu.createCommandEncoder();
    this.#endPass();
    this.#encoder.copyBufferToBuffer(from.buffer, 0, to.buffer, 0, bytes);
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
    if (!this.#encoder) return;
    this.#endPass();
    const { queue } = this.#gpu;
    if (this.#used) queue.writeBuffer(this.scalars, 0, this.#values.buffer, 0, this.#used);
    queue.submit([this.#encoder.finish()]);
    this.#encoder = null;
    this.#used = 0;
  }
}

/** Pipelines, each compiled once: by the shader's text, its constants and its layout. */
class Pipelines {
  #gpu;
  #made = new Map();

  constructor(gpu) {
    this.#gpu = gpu;
  }

  #describe({ wgsl, layout, constants }) {
    const compute = { module: this.#gpu.createShaderModule({ code: wgsl }), entryPoint: "main", constants };
    return { layout: this.#gpu.createPipelineLayout({ bindGroupLayouts: [layout] }), compute };
  }

  /** A promise of it. */
  get(description) {
    const { wgsl, entries, constants } = description, key = JSON.stringify([wgsl, entries, constants]);
    if (!this.#made.has(key)) this.#made.set(key, this.#compile(description));
    return this.#made.get(key);
  }

  async #compile(description) {
    this.#gpu.pushErrorScope("validation");
    const full = this.#describe(description), scope = this.#gpu.popErrorScope();
    try {
      return await this.#gpu.createComputePipelineAsync(full);
    } catch (error) {
      const { messages } = await full.compute.module.getCompilationInfo();
      const lines = messages.filter(({ type }) => type === "error").map((m) => `\n  line ${m.lineNum}:${m.linePos}: ${m.message}`);
      throw runtimeError(`kernel ${description.name} cannot be compiled: ${error.message}${lines.join("")}`);
    } finally {
      await scope.catch(() => {});
    }
  }

  /** At once, for a launch that waits for it. */
  makeNow(description) {
    return this.#gpu.createComputePipeline(this.#describe(description));
  }
}

export class Device extends Place {
  #lost = null;
  #errors = [];
  #batches = 0;

  constructor(gpu) {
    super("webgpu", (bytes, data) => new DeviceMemory(this, bytes, data));
    this.gpu = gpu;
    this.commands = new Commands(gpu);
    this.pipelines = new Pipelines(gpu);
    this.workspace = new Workspace(this);
    this.lost = gpu.lost.then(({ reason, message }) => this.#lost ??= message || reason || "no reason was given");
    gpu.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#errors.push(event.error.message);
    });
  }

  /** Throws where the device can do no more. */
  check() {
    if (this.#lost) throw runtimeError(`the WebGPU device was lost: ${this.#lost}; tern.init() gives a new one`);
  }

  async readBuffer(buffer, offset, bytes) {
    this.flush();
    const { gpu } = this, encoder = gpu.createCommandEncoder();
    const to = gpu.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(buffer, offset, to, 0, bytes);
    gpu.queue.submit([encoder.finish()]);
    const failure = await to.mapAsync(GPUMapMode.READ).catch((error) => error);
    this.#throwErrors();
    if (failure) throw runtimeError(`the memory cannot be read: ${failure.message}`);
    const result = new Uint8Array(to.getMappedRange()).slice();
    to.destroy();
    return result;
  }

  /** Commands of calls inside `body` are submitted at once, at its end. */
  batch(body) {
    ++this.#batches;
    try {
      return body();
    } finally {
      if (--this.#batches === 0) this.flush();
    }
  }

  /** Submits the commands that wait. */
  flush() {
    if (!this.#lost) this.commands.submit();
  }

  /** Waits for all work; throws what went wrong since the last time. */
  async sync() {
    this.flush();
    this.check();
    await this.gpu.queue.onSubmittedWorkDone();
    this.#throwErrors();
  }

  #throwErrors() {
    this.check();
    const [first] = this.#errors.splice(0);
    if (first) throw runtimeError(`WebGPU: ${first}`);
  }

  destroy() {
    this.#lost ??= "it was destroyed";
    this.gpu.destroy();
  }
}

/** A device with what of it kernels may need; or that of the page, `device`. */
export async function init({ device, adapter, powerPreference } = {}) {
  if (device) return new Device(device);
  if (!globalThis.navigator?.gpu)
    throw runtimeError(`this browser has no WebGPU; pages need https to have it`);
  adapter ??= await navigator.gpu.requestAdapter({ powerPreference });
  if (!adapter) throw runtimeError("WebGPU has no device here");
  const requiredFeatures = kFeatures.filter((name) => adapter.features.has(name)), requiredLimits = {};
  for (const name in adapter.limits) if (kLimits.test(name)) requiredLimits[name] = adapter.limits[name];
  try {
    return new Device(await adapter.requestDevice({ requiredFeatures, requiredLimits }));
  } catch (error) {
    throw runtimeError(`WebGPU gives no device: ${error.message}`);
  }
}
