// SPDX-License-Identifier: Apache-2.0

// The WebAssembly module that Tern compiled: values are laid out in its memory as docs/abi.md says, for pointers of 4 bytes
// (tern/ffi/abi_layout.h), and this is the environment of its functions.
import { typeName } from "./dtype.js";
import { TernError } from "./error.js";
import { describeValue } from "./value_reader.js";

const kNone = 0, kInt = 1, kBool = 2, kFloat = 3, kOpaquePtr = 4, kTensorView = 7, kRawStr = 8;
const kTypeNames = { 5: "data type", 6: "device" };
const kAnyBytes = 16, kViewBytes = 40, kCpu = 1, kAlignment = 64, kPageBytes = 65536;
const kDevices = { cpu: kCpu, webgpu: 15 };
const kUtf8 = new TextDecoder();

export class HostCode {
  #exports;
  #memory;
  #heap;
  #top;
  #error = null;
  #device = null; // of the call that runs: launch(), allocate() and free()

  /** Of the bytes of a WebAssembly module. */
  static async compile(bytes) {
    try {
      return new HostCode(await WebAssembly.compile(bytes));
    } catch (error) {
      throw error instanceof TernError ? error : new TernError("RuntimeError", `the host code cannot be loaded: ${error.message}`);
    }
  }

  constructor(module) {
    this.#exports = new WebAssembly.Instance(module, { tern: this.#environment() }).exports;
    this.#memory = this.#exports.memory;
    this.#heap = this.#exports.__heap_base.value;
  }

  has(name) {
    return `__tern_${name}` in this.#exports;
  }

  // ---- memory, until the end of the call

  #view() {
    return new DataView(this.#memory.buffer);
  }
  #allocate(bytes, alignment = kAlignment) {
    const address = Math.ceil(this.#top / alignment) * alignment, missing = address + bytes - this.#memory.buffer.byteLength;
    try {
      if (missing > 0) this.#memory.grow(Math.ceil(missing / kPageBytes));
    } catch {
      throw new TernError("RuntimeError", `no memory for ${bytes} bytes in the host code's WebAssembly`);
    }
    this.#top = address + Math.max(bytes, 1);
    return address;
  }
  #text(address) {
    const bytes = new Uint8Array(this.#memory.buffer, address);
    return kUtf8.decode(bytes.slice(0, bytes.indexOf(0)));
  }
  #int64s(values) {
    const address = this.#allocate(8 * values.length, 8);
    values.forEach((value, i) => this.#view().setBigInt64(address + 8 * i, BigInt(value), true));
    return address;
  }

  // ---- values

  #writeAny(address, type, set) {
    const view = this.#view();
    view.setInt32(address, type, true);
    view.setBigUint64(address + 4, 0n, true);
    view.setUint32(address + 12, 0, true);
    set?.(view, address + 8);
  }

  #readAny(address) {
    const view = this.#view(), type = view.getInt32(address, true), at = address + 8;
    if (type === kInt) return view.getBigInt64(at, true);
    if (type === kBool) return view.getBigInt64(at, true) !== 0n;
    if (type === kFloat) return view.getFloat64(at, true);
    if (type === kOpaquePtr) return { handle: view.getUint32(at, true) };
    if (type === kRawStr) return this.#text(view.getUint32(at, true));
    if (type === kNone) return null;
    return { type, address: view.getUint32(at, true) };
  }

  /** A value of #readAny in Tern's words. */
  #describe(value) {
    if (value === null || typeof value !== "object") return describeValue(value);
    if ("handle" in value) return "pointer";
    return value.type === kTensorView ? this.#describeTensor(value.address) : kTypeNames[value.type] ?? `type ${value.type}`;
  }

  #describeTensor(at) {
    const view = this.#view(), rank = view.getInt32(at + 12, true), shapeAt = view.getUint32(at + 20, true);
    const shape = Array.from({ length: rank }, (_, i) => view.getBigInt64(shapeAt + 8 * i, true));
    const type = typeName(view.getUint8(at + 16), view.getUint8(at + 17));
    const device = view.getInt32(at + 4, true), name = Object.keys(kDevices).find((key) => kDevices[key] === device);
    return `${type} tensor of shape (${shape.join(", ")}${rank === 1 ? "," : ""}) on ${name ?? `device ${device}`}:0`;
  }

  // ---- what the functions may ask for

  // An exception must not cross the functions' frames: they would not give back their part of the stack.
  #guard(body, failed) {
    try {
      return body();
    } catch (error) {
      this.#error = error instanceof TernError ? error : new TernError("RuntimeError", error.message);
      return failed;
    }
  }

  #environment() {
    return {
      raise: (env, kind, parts, count) => {
        let message = "";
        for (let i = 0; i < count; ++i) {
          const part = this.#readAny(parts + i * kAnyBytes);
          if (typeof part === "string" || typeof part === "bigint") message += part;
          else message += this.#describe(part?.handle ? this.#readAny(part.handle) : part);
        }
        this.#error = new TernError(this.#text(kind), message);
      },
      call: (env, name, args, count) => this.#guard(() => {
        const values = Array.from({ length: count }, (_, i) => this.#readAny(args + i * kAnyBytes));
        this.#device.launch(this.#text(name), values, (value) => this.#describe(value));
        return 0;
      }, -1),
      alloc_workspace: (env, type, id, bytes, alignment) => this.#guard(
        () => type === kCpu ? this.#allocate(Number(bytes), Number(alignment)) : this.#device.allocate(Number(bytes)), 0),
      free_workspace: (env, type, id, memory) => {
        if (type !== kCpu) this.#device.free(memory);
      },
      parallel_for: (env, body, extent, captures) =>
        this.#exports.__indirect_function_table.get(body)(env, 0n, extent, captures),
    };
  }

  // ---- calls

  /** Memory of the host that tensors lie in: each piece is copied once, so that tensors which share it still do. */
  #copyIn(tensors) {
    const pieces = new Map();
    for (const tensor of tensors) {
      if (tensor.device !== "cpu") continue;
      const { buffer, byteOffset, byteLength } = tensor.memory, piece = pieces.get(buffer);
      const end = byteOffset + byteLength;
      if (piece) piece.begin = Math.min(piece.begin, byteOffset), piece.end = Math.max(piece.end, end);
      else pieces.set(buffer, { begin: byteOffset, end });
    }
    for (const [buffer, piece] of pieces) {
      piece.address = this.#allocate(piece.end - piece.begin);
      new Uint8Array(this.#memory.buffer, piece.address).set(new Uint8Array(buffer, piece.begin, piece.end - piece.begin));
    }
    return ({ memory }) => pieces.get(memory.buffer).address + memory.byteOffset - pieces.get(memory.buffer).begin;
  }

  #writeTensor(tensor, data) {
    const shape = this.#int64s(tensor.shape), strides = tensor.strides ? this.#int64s(tensor.strides) : 0;
    const at = this.#allocate(kViewBytes, 8), view = this.#view();
    view.setUint32(at, data, true);
    view.setInt32(at + 4, kDevices[tensor.device], true);
    view.setInt32(at + 8, 0, true);
    view.setInt32(at + 12, tensor.shape.length, true);
    view.setUint8(at + 16, tensor.type.code);
    view.setUint8(at + 17, tensor.type.bits);
    view.setUint16(at + 18, 1, true);
    view.setUint32(at + 20, shape, true);
    view.setUint32(at + 24, strides, true);
    view.setBigUint64(at + 32, BigInt(tensor.byteOffset), true);
    return at;
  }

  #writeValue(at, value) {
    if (value === null) this.#writeAny(at, kNone);
    else if (typeof value === "bigint") this.#writeAny(at, kInt, (view, to) => view.setBigInt64(to, value, true));
    else if (typeof value === "boolean") this.#writeAny(at, kBool, (view, to) => view.setBigInt64(to, BigInt(value), true));
    else this.#writeAny(at, kFloat, (view, to) => view.setFloat64(to, value, true));
  }

  /**
   * Calls a function. `args` are BigInts, Numbers (floats), booleans, null and tensors; `outputs` says which tensors it writes, and
   * `device` gives the handles of tensors that are not of the host, and runs kernels.
   */
  call(name, args, outputs, device) {
    this.#top = this.#heap;
    this.#error = null;
    this.#device = device;
    try {
      const tensors = args.filter((arg) => arg?.memory), addressOf = this.#copyIn(tensors);
      const values = this.#allocate(kAnyBytes * args.length), result = this.#allocate(kAnyBytes);
      args.forEach((arg, i) => {
        const at = values + i * kAnyBytes;
        if (!arg?.memory) return this.#writeValue(at, arg);
        const tensor = this.#writeTensor(arg, arg.device === "cpu" ? addressOf(arg) : device.handleOf(arg.memory));
        return this.#writeAny(at, kTensorView, (view, to) => view.setUint32(to, tensor, true));
      });
      this.#writeAny(result, kNone);
      this.#run(name, values, args.length, result);
      for (const tensor of outputs)
        if (tensor.device === "cpu")
          tensor.memory.set(new Uint8Array(this.#memory.buffer, addressOf(tensor), tensor.memory.byteLength));
      return this.#readAny(result);
    } finally {
      this.#device = null;
    }
  }

  #run(name, values, count, result) {
    let status;
    try {
      status = this.#exports[`__tern_${name}`](this.#exports.__tern_env.value, values, count, result);
    } catch (error) {
      throw new TernError("RuntimeError", `${name}: the host code failed: ${error.message}`);
    }
    if (status !== 0) throw this.#error ?? new TernError("RuntimeError", `${name}: status ${status}`);
  }
}
