// SPDX-License-Identifier: Apache-2.0

// A WebGPU device: its memory, its pipelines, and the commands that wait to be submitted.
import { tensorType } from "./dtype.js";
import { TernError } from "./error.js";
import { DeviceMemory, ReadbackBuffers, Workspace } from "./memory.js";
import { checkShape, makeTensor, Tensor } from "./tensor.js";

const kScalarsBytes = 65536;
const kFeatures = ["shader-f16", "subgroups", "timestamp-query"];
const kLimits = [
  "maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage", "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY", "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
];

const failure = (message) => new TernError("RuntimeError", message);

/** Commands of one submission. Scalars of all its launches go over in one write. */
class Commands {
  #gpu;
  #encoder = null;
  #pass = null;
  #scalars = new DataView(new ArrayBuffer(kScalarsBytes));
  #used = 0;

  constructor(gpu) {
    this.#gpu = gpu;
    this.scalarsBuffer = gpu.createBuffer(
      { label: "scalars", size: kScalarsBytes, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
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

  /** Where in the buffer of scalars they are. `write` puts them at a place of a DataView. */
  addScalars(bytes, write) {
    const step = this.#gpu.limits.minUniformBufferOffsetAlignment, room = Math.ceil(bytes / step) * step;
    if (room > kScalarsBytes) throw failure(`${bytes} bytes of scalars are more than ${kScalarsBytes}`);
    if (this.#used + room > kScalarsBytes) this.submit();
    const at = this.#used;
    this.#used += room;
    write(this.#scalars, at);
    return at;
  }

  submit() {
    if (!this.#encoder) return;
    this.#endPass();
    const { queue } = this.#gpu;
    if (this.#used) queue.writeBuffer(this.scalarsBuffer, 0, this.#scalars.buffer, 0, this.#used);
    queue.submit([this.#encoder.finish()]);
    this.forget();
  }

  forget() {
    this.#endPass();
    this.#encoder = null;
    this.#used = 0;
  }
}

/** Pipelines by the shader's text, its constants and its layout: one of each is compiled. */
class Pipelines {
  #gpu;
  #made = new Map();

  constructor(gpu) {
    this.#gpu = gpu;
  }

  static #key({ wgsl, entries, constants }) {
    return JSON.stringify([wgsl, entries, constants]);
  }
  #full({ label, wgsl, layout, constants }) {
    const module = this.#gpu.createShaderModule({ label, code: wgsl });
    const compute = { module, entryPoint: "main", constants };
    return { label, layout: this.#gpu.createPipelineLayout({ bindGroupLayouts: [layout] }), compute };
  }

  /** A promise of it. */
  get(descriptor) {
    const key = Pipelines.#key(descriptor);
    if (!this.#made.has(key)) this.#made.set(key, this.#compile(descriptor));
    return Promise.resolve(this.#made.get(key));
  }

  async #compile(descriptor) {
    this.#gpu.pushErrorScope("validation");
    const full = this.#full(descriptor), scope = this.#gpu.popErrorScope();
    try {
      return await this.#gpu.createComputePipelineAsync(full);
    } catch (error) {
      const { messages } = await full.compute.module.getCompilationInfo();
      const lines = messages.filter(({ type }) => type === "error").map((m) => `\n  line ${m.lineNum}:${m.linePos}: ${m.message}`);
      throw failure(`kernel ${descriptor.label} cannot be compiled: ${error.message}${lines.join("")}`);
    } finally {
      await scope.catch(() => {});
    }
  }

  /** At once, for a launch that waits for it. */
  getNow(descriptor) {
    const key = `now ${Pipelines.#key(descriptor)}`;
    if (!this.#made.has(key)) this.#made.set(key, this.#gpu.createComputePipeline(this.#full(descriptor)));
    return this.#made.get(key);
  }
}

export class Device {
  #lost = null;
  #errors = [];
  #readback;
  #batches = 0;

  constructor(gpu) {
    this.gpu = gpu;
    this.commands = new Commands(gpu);
    this.pipelines = new Pipelines(gpu);
    this.workspace = new Workspace(this);
    this.#readback = new ReadbackBuffers(gpu);
    /** Resolves with the reason when the device is gone. */
    this.lost = gpu.lost.then(({ reason, message }) => this.#lose(message || reason || "no reason was given"));
    gpu.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#errors.push(event.error.message);
    });
  }

  #lose(reason) {
    this.#lost ??= reason;
    return reason;
  }

  /** Throws where the device can do no more. */
  check() {
    if (this.#lost !== null) throw failure(`the WebGPU device was lost: ${this.#lost}; tern.init() gives a new one`);
  }

  // ---- tensors

  /** A tensor of the elements of a typed array, or of numbers. */
  tensor(values, shape, dtype) {
    return makeTensor("webgpu", (bytes) => new DeviceMemory(this, bytes.length, bytes), values, shape, dtype);
  }
  /** One of zeros. */
  zeros(shape, dtype = "float32") {
    const bytes = checkShape(shape).reduce((a, b) => a * b, tensorType(dtype).bytes);
    return new Tensor("webgpu", new DeviceMemory(this, bytes), { dtype, shape });
  }

  async readBuffer(buffer, offset, bytes) {
    this.flush();
    const to = this.#readback.take(bytes), encoder = this.gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, offset, to, 0, bytes);
    this.gpu.queue.submit([encoder.finish()]);
    try {
      await to.mapAsync(GPUMapMode.READ, 0, bytes);
    } catch (error) {
      this.#throwErrors();
      throw failure(`the memory cannot be read: ${error.message}`);
    }
    const result = new Uint8Array(to.getMappedRange(0, bytes)).slice();
    to.unmap();
    this.#readback.giveBack(to);
    this.#throwErrors();
    return result;
  }

  // ---- work

  /** Hands over the commands of calls inside `body` at once, at its end. */
  batch(body) {
    ++this.#batches;
    try {
      return body();
    } finally {
      if (--this.#batches === 0) this.flush();
    }
  }

  /** Hands over the commands that wait. */
  flush() {
    if (this.#lost === null) this.commands.submit();
    else this.commands.forget();
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
    const [first] = this.#errors;
    this.#errors = [];
    if (first) throw failure(`WebGPU: ${first}`);
  }

  /** Gives all of it back. */
  destroy() {
    this.#lose("it was destroyed");
    this.gpu.destroy();
  }
}

/**
 * A WebGPU device, with what of it kernels may need. `options.device` is one that the page has already, `options.adapter` an adapter of
 * it, `options.powerPreference` what kind to ask for.
 */
export async function init({ device, adapter, powerPreference } = {}) {
  if (device) return new Device(device);
  if (!globalThis.navigator?.gpu)
    throw failure(`this browser has no WebGPU${globalThis.isSecureContext === false ? " for pages without https" : ""}`);
  adapter ??= await navigator.gpu.requestAdapter({ powerPreference });
  if (!adapter) throw failure("WebGPU has no device here");
  const requiredLimits = Object.fromEntries(kLimits.map((name) => [name, adapter.limits[name]]));
  const requiredFeatures = kFeatures.filter((name) => adapter.features.has(name));
  try {
    return new Device(await adapter.requestDevice({ requiredFeatures, requiredLimits }));
  } catch (error) {
    throw failure(`WebGPU gives no device: ${error.message}`);
  }
}
