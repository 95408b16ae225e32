// SPDX-License-Identifier: Apache-2.0

// Host code is a WebAssembly module; values as in docs/abi.md.
import { typeName } from "./dtype.js";
import { runtimeError, shapeText, TernError } from "./error.js";
import { bytesToText } from "./json.js";
import { describeValue } from "./value_reader.js";

const kNone = 0, kInt = 1, kBool = 2, kFloat = 3, kOpaquePtr = 4, kTensorView = 7, kRawStr = 8;
const kAnyBytes = 16, kViewBytes = 40, kAlignment = 64, kPageBytes = 65536, kCpu = 1, kDevices = { cpu: kCpu, webgpu: 15 };

const kCheckKernel = "runtime.check_kernel"; // tern/tir/transform/calls/lower_kernel_asserts.h

export class HostCode {
  #exports;
  #top;
  #base;
  #kept = new Map(); // addresses of memory that stays between calls, by its buffer
  #error = null;
  #device = null; // of the call that runs: launch(), checkKernel(), allocate() and free()

  static async compile(bytes) {
    try {
      const module = await WebAssembly.compile(bytes), code = new HostCode();
      code.#exports = new WebAssembly.Instance(module, { tern: code.#environment() }).exports;
      code.#base = code.#exports.__heap_base.value;
      return code;
    } catch (error) {
      throw runtimeError(`the host code cannot be loaded: ${error.message}`);
    }
  }

  has(name) {
    return `__tern_${name}` in this.#exports;
  }

  /** Memory of a tensor of the host is copied now, and not when it is an argument: it does not change. */
  keep({ buffer }) {
    this.#top = this.#base;
    const address = this.#allocate(buffer.byteLength);
    new Uint8Array(this.#memory, address).set(new Uint8Array(buffer));
    this.#base = this.#top;
    this.#kept.set(buffer, address);
  }

  get #memory() {
    return this.#exports.memory.buffer;
  }
  get #view() {
    return new DataView(this.#memory);
  }
  #allocate(bytes, alignment = kAlignment) {
    const address = Math.ceil(this.#top / alignment) * alignment, missing = address + bytes - this.#memory.byteLength;
    try {
      if (missing > 0) this.#exports.memory.grow(Math.ceil(missing / kPageBytes));
    } catch {
      throw runtimeError(`the host code's WebAssembly has no memory for ${bytes} bytes`);
    }
    this.#top = address + Math.max(bytes, 1);
    return address;
  }
  #text(address) {
    const bytes = new Uint8Array(this.#memory, address);
    return bytesToText(bytes.slice(0, bytes.indexOf(0)));
  }
  #int64s(values) {
    const address = this.#allocate(8 * values.length, 8);
    values.forEach((value, i) => this.#view.setBigInt64(address + 8 * i, BigInt(value), true));
    return address;
  }

  #readAny(address) {
    const view = this.#view, type = view.getInt32(address, true), at = address + 8, pointer = view.getUint32(at, true);
    if (type === kNone) return null;
    if (type === kInt) return view.getBigInt64(at, true);
    if (type === kBool) return pointer !== 0;
    if (type === kFloat) return view.getFloat64(at, true);
    return type === kRawStr ? this.#text(pointer) : { type, pointer };
  }

  #writeAny(at, value) {
    const view = this.#view, put = (type, payload) => {
      view.setBigInt64(at, BigInt(type), true);
      view.setBigInt64(at + 8, payload, true);
    };
    if (value === null) put(kNone, 0n);
    else if (typeof value === "bigint") put(kInt, value);
    else if (typeof value === "boolean") put(kBool, BigInt(value));
    else if (typeof value === "object") put(value.type, BigInt(value.pointer));
    else put(kFloat, 0n), view.setFloat64(at + 8, value, true);
  }

  #describe(value) {
    if (value === null || typeof value !== "object") return describeValue(value);
    if (value.type !== kTensorView) return value.type === kOpaquePtr ? "pointer" : `type ${value.type}`;
    const view = this.#view, at = value.pointer, shapeAt = view.getUint32(at + 20, true);
    const shape = Array.from({ length: view.getInt32(at + 12, true) }, (_, i) => view.getBigInt64(shapeAt + 8 * i, true));
    const device = Object.keys(kDevices).find((name) => kDevices[name] === view.getInt32(at + 4, true));
    return `${typeName(view.getUint8(at + 16), view.getUint8(at + 17))} tensor of shape ${shapeText(shape)} on ${device}:0`;
  }

  #writeTensor(tensor, data) {
    const shape = this.#int64s(tensor.shape), strides = tensor.strides ? this.#int64s(tensor.strides) : 0;
    const pointer = this.#allocate(kViewBytes, 8), view = this.#view;
    [data, kDevices[tensor.device], 0, tensor.shape.length, 0, shape, strides, 0, tensor.byteOffset, 0].forEach(
      (word, i) => view.setUint32(pointer + 4 * i, word, true));
    view.setUint8(pointer + 16, tensor.type.code);
    view.setUint8(pointer + 17, tensor.type.bits);
    view.setUint16(pointer + 18, 1, true);
    return { type: kTensorView, pointer };
  }

  // {memory, byteOffset, shape} of a tensor of the device.
  #readTensor({ pointer: at }) {
    const view = this.#view, shapeAt = view.getUint32(at + 20, true);
    const shape = Array.from({ length: view.getInt32(at + 12, true) }, (_, i) => Number(view.getBigInt64(shapeAt + 8 * i, true)));
    return { memory: view.getUint32(at, true), byteOffset: view.getUint32(at + 32, true), shape };
  }

  // Launches a kernel, or looks at what one left.
  #callDevice(name, args) {
    if (name === kCheckKernel) this.#device.checkKernel(this.#readTensor(args[0]), args.slice(1));
    else this.#device.launch(name, args, (value) => this.#describe(value));
    return 0;
  }

  // An exception must not cross the functions' frames, which have parts of the stack.
  #guard(body, failed) {
    try {
      return body();
    } catch (error) {
      this.#error = error instanceof TernError ? error : runtimeError(error.message);
      return failed;
    }
  }

  #environment() {
    const values = (at, count) => Array.from({ length: count }, (_, i) => this.#readAny(at + i * kAnyBytes));
    return {
      raise: (env, kind, parts, count) => {
        const texts = values(parts, count).map((part) => {
          if (typeof part === "string" || typeof part === "bigint") return part;
          return this.#describe(part?.type === kOpaquePtr ? this.#readAny(part.pointer) : part);
        });
        this.#error = new TernError(this.#text(kind), texts.join(""));
      },
      call: (env, name, args, count) => this.#guard(() => this.#callDevice(this.#text(name), values(args, count)), -1),
      alloc_workspace: (env, type, id, bytes, alignment) => this.#guard(
        () => type === kCpu ? this.#allocate(Number(bytes), Number(alignment)) : this.#device.allocate(Number(bytes)), 0),
      free_workspace: (env, type, id, memory) => type === kCpu || this.#device.free(memory),
      parallel_for: (env, body, extent, captures) => this.#exports.__indirect_function_table.get(body)(env, 0n, extent, captures),
    };
  }

  // The address of a tensor's memory. Buffers are copied once: tensors which share one still do.
  #copyIn(tensors) {
    const pieces = new Map();
    const memories = tensors.map(({ memory }) => memory).filter(({ buffer }) => !this.#kept.has(buffer));
    for (const { buffer, byteOffset, byteLength } of memories) {
      const { begin = byteOffset, end = 0 } = pieces.get(buffer) ?? {};
      pieces.set(buffer, { begin: Math.min(begin, byteOffset), end: Math.max(end, byteOffset + byteLength) });
    }
    for (const [buffer, piece] of pieces) {
      piece.address = this.#allocate(piece.end - piece.begin);
      new Uint8Array(this.#memory, piece.address).set(new Uint8Array(buffer, piece.begin, piece.end - piece.begin));
    }
    return ({ buffer, byteOffset }) => (
      this.#kept.has(buffer) ? this.#kept.get(buffer) + byteOffset : pieces.get(buffer).address + byteOffset - pieces.get(buffer).begin);
  }

  /** `args` are BigInts, Numbers, booleans, null and tensors, of which it writes `outputs`. */
  call(name, args, outputs, device) {
    this.#top = this.#base;
    this.#error = null;
    this.#device = device;
    const isHost = (arg) => arg?.device === "cpu", addressOf = this.#copyIn(args.filter(isHost));
    const values = this.#allocate(kAnyBytes * (args.length + 1)), result = values + kAnyBytes * args.length;
    args.forEach((arg, i) => this.#writeAny(
      values + i * kAnyBytes,
      arg?.memory ? this.#writeTensor(arg, isHost(arg) ? addressOf(arg.memory) : device.handleOf(arg.memory)) : arg));
    this.#writeAny(result, null);
    let status;
    try {
      status = this.#exports[`__tern_${name}`](this.#exports.__tern_env.value, values, args.length, result);
    } catch (error) {
      throw runtimeError(`${name}: the host code failed: ${error.message}`);
    }
    if (status !== 0) throw this.#error ?? runtimeError(`${name}: status ${status}`);
    for (const { memory } of outputs.filter(isHost)) memory.set(new Uint8Array(this.#memory, addressOf(memory), memory.byteLength));
  }
}
