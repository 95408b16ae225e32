// SPDX-License-Identifier: Apache-2.0

import { check, runtimeError } from "./error.js";

const kWord = 4, kGranule = 16, kMaxIdle = 256 << 20;
let buffersMade = 0;

/** One buffer that kernels use. `id` is what host code knows it by. */
export class DeviceMemory {
  #device;

  constructor(device, byteLength, bytes = null) {
    device.check();
    const size = Math.max(kGranule, Math.ceil(byteLength / kGranule) * kGranule), { limits } = device.gpu;
    const most = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
    check(size <= most, () => `a tensor of ${byteLength} bytes is larger than this device takes, ${most} bytes`);
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    try {
      this.buffer = device.gpu.createBuffer({ size, usage, mappedAtCreation: bytes !== null });
      if (bytes) new Uint8Array(this.buffer.getMappedRange()).set(bytes);
    } catch (error) {
      throw runtimeError(`no memory for a tensor of ${byteLength} bytes: ${error.message}`);
    }
    if (bytes) this.buffer.unmap();
    this.#device = device;
    Object.assign(this, { id: ++buffersMade, byteLength, size });
  }

  /** Throws where it cannot be used, by `device` if that is given. */
  check(device = this.#device) {
    if (!this.buffer) throw runtimeError("the tensor was disposed of");
    check(device === this.#device, () => "the tensor is on another device than the one that the file was loaded for");
    device.check();
  }

  write(offset, bytes) {
    this.check();
    const whole = Math.ceil(bytes.length / kWord) * kWord;
    check(offset % kWord === 0 && (whole === bytes.length || offset + bytes.length === this.byteLength),
          () => `WebGPU writes whole words of ${kWord} bytes, not ${bytes.length} bytes at ${offset}`);
    const padded = whole === bytes.length ? bytes : new Uint8Array(whole);
    if (padded !== bytes) padded.set(bytes);
    this.#device.flush();
    this.#device.gpu.queue.writeBuffer(this.buffer, offset, padded);
  }

  async read(offset, bytes) {
    this.check();
    if (bytes === 0) return new Uint8Array();
    const begin = Math.floor(offset / kWord) * kWord, end = Math.ceil((offset + bytes) / kWord) * kWord;
    return (await this.#device.readBuffer(this.buffer, begin, end - begin)).slice(offset - begin, offset - begin + bytes);
  }

  dispose() {
    if (!this.buffer) return;
    this.#device.flush();
    this.buffer.destroy();
    this.buffer = null;
  }
}

/** Temporary memory. Work is queued in order: what is given back can be used again at once. */
export class Workspace {
  #device;
  #idle = [];
  used = new Map();

  constructor(device) {
    this.#device = device;
  }

  take(bytes) {
    const i = this.#idle.findIndex(({ size }) => size >= bytes && size <= 2 * Math.max(bytes, kGranule));
    const memory = i < 0 ? new DeviceMemory(this.#device, bytes) : this.#idle.splice(i, 1)[0];
    this.used.set(memory.id, memory);
    return memory;
  }

  giveBack(id) {
    if (this.used.has(id)) this.#idle.push(this.used.get(id));
    this.used.delete(id);
  }

  /** At the end of a call. Buffers are kept for the next. */
  giveBackAll() {
    for (const id of [...this.used.keys()]) this.giveBack(id);
    let total = this.#idle.reduce((sum, { size }) => sum + size, 0);
    while (total > kMaxIdle) {
      total -= this.#idle[0].size;
      this.#idle.shift().dispose();
    }
  }
}
