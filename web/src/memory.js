// SPDX-License-Identifier: Apache-2.0

// Memory of a WebGPU device: buffers of tensors, temporary ones, and those that carry data back.
import { check, TernError } from "./error.js";

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
    this.#device = device;
    this.id = ++buffersMade;
    this.byteLength = byteLength;
    this.size = size;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    try {
      this.buffer = device.gpu.createBuffer({ size, usage, mappedAtCreation: bytes !== null });
      if (bytes) new Uint8Array(this.buffer.getMappedRange()).set(bytes);
    } catch (error) {
      throw new TernError("RuntimeError", `no memory for a tensor of ${byteLength} bytes: ${error.message}`);
    }
    if (bytes) this.buffer.unmap();
  }

  isOf(device) {
    return this.#device === device;
  }
  get isDisposed() {
    return this.buffer === null;
  }
  checkAlive() {
    if (this.isDisposed) throw new TernError("RuntimeError", "the tensor was disposed of");
    this.#device.check();
  }

  write(offset, bytes) {
    this.checkAlive();
    const toEnd = offset + bytes.length === this.byteLength;
    check(offset % kWord === 0 && (bytes.length % kWord === 0 || toEnd),
          () => `WebGPU writes whole words of ${kWord} bytes, not ${bytes.length} bytes at ${offset}`);
    this.#device.flush();
    let whole = bytes;
    if (bytes.length % kWord) {
      whole = new Uint8Array(Math.ceil(bytes.length / kWord) * kWord);
      whole.set(bytes);
    }
    this.#device.gpu.queue.writeBuffer(this.buffer, offset, whole);
  }

  async read(offset, bytes) {
    this.checkAlive();
    if (bytes === 0) return new Uint8Array();
    const begin = Math.floor(offset / kWord) * kWord, end = Math.ceil((offset + bytes) / kWord) * kWord;
    const words = await this.#device.readBuffer(this.buffer, begin, end - begin);
    return words.slice(offset - begin, offset - begin + bytes);
  }

  dispose() {
    if (this.isDisposed) return;
    this.#device.flush();
    this.buffer.destroy();
    this.buffer = null;
  }
}

/**
 * Temporary memory. Work is queued in the order of the calls, so what is given back can be used again at once; the same buffers serve
 * one call after the other.
 */
export class Workspace {
  #device;
  #idle = [];
  #used = new Map();

  constructor(device) {
    this.#device = device;
  }

  take(bytes) {
    let best = -1;
    this.#idle.forEach((memory, i) => {
      if (memory.size >= bytes && memory.size <= 2 * Math.max(bytes, kGranule) &&
          (best < 0 || memory.size < this.#idle[best].size)) best = i;
    });
    const memory = best >= 0 ? this.#idle.splice(best, 1)[0] : new DeviceMemory(this.#device, bytes);
    this.#used.set(memory.id, memory);
    return memory;
  }

  find(id) {
    return this.#used.get(id);
  }

  giveBack(id) {
    const memory = this.#used.get(id);
    if (!memory) return;
    this.#used.delete(id);
    this.#idle.push(memory);
  }

  /** At the end of a call, of which nothing stays. */
  giveBackAll() {
    for (const id of [...this.#used.keys()]) this.giveBack(id);
    let total = 0;
    this.#idle.forEach((memory) => { total += memory.size; });
    while (total > kMaxIdle) {
      const memory = this.#idle.shift();
      total -= memory.size;
      memory.dispose();
    }
  }
}

/** Buffers that the page can read, kept for the next time. */
export class ReadbackBuffers {
  #gpu;
  #idle = [];

  constructor(gpu) {
    this.#gpu = gpu;
  }
  take(bytes) {
    const i = this.#idle.findIndex((buffer) => buffer.size >= bytes && buffer.size <= 2 * bytes);
    if (i >= 0) return this.#idle.splice(i, 1)[0];
    return this.#gpu.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }
  giveBack(buffer) {
    this.#idle.push(buffer);
    if (this.#idle.length > 4) this.#idle.shift().destroy();
  }
}
