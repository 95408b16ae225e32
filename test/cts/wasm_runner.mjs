// SPDX-License-Identifier: Apache-2.0
//
// Runs calls of the conformance suite on WebAssembly (tools/tern/cts/executor.h, MakeImageExecutor): node wasm_runner.mjs --batch FILE.
// Here the host is JavaScript: it lays out the values of docs/abi.md in the module's memory, for pointers of 4 bytes, and is the
// environment of the functions.
import fs from "node:fs";

const kNone = 0, kInt = 1, kFloat = 3, kOpaquePtr = 4, kTensorView = 7, kRawStr = 8;
const kAnyBytes = 16, kViewBytes = 40, kCpu = 1, kAlignment = 64;

class Instance {
  constructor(path) {
    const module = new WebAssembly.Module(fs.readFileSync(path));
    this.exports = new WebAssembly.Instance(module, { tern: this.environment() }).exports;
    this.heap = this.exports.__heap_base.value;
  }

  view() {
    return new DataView(this.exports.memory.buffer);
  }

  // Memory until the end of the call.
  allocate(bytes, alignment = kAlignment) {
    const address = Math.ceil(this.top / alignment) * alignment;
    this.top = address + bytes;
    const missing = this.top - this.exports.memory.buffer.byteLength;
    if (missing > 0) this.exports.memory.grow(Math.ceil(missing / 65536));
    return address;
  }

  text(address) {
    const bytes = new Uint8Array(this.exports.memory.buffer, address);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  environment() {
    return {
      raise: (env, kind, parts, count) => {
        let message = "";
        for (let i = 0; i < count; ++i) {
          const at = parts + i * kAnyBytes, type = this.view().getInt32(at, true);
          if (type === kRawStr) message += this.text(this.view().getUint32(at + 8, true));
          else if (type === kInt) message += this.view().getBigInt64(at + 8, true);
          else message += type === kOpaquePtr ? "another value" : `a value of type ${type}`;
        }
        this.error = `${this.text(kind)}: ${message}`;
      },
      call: (env, name) => {
        this.error = `RuntimeError: there is no function ${this.text(name)}`;
        return -1;
      },
      alloc_workspace: (env, type, id, bytes, alignment) => {
        try {
          return this.allocate(Number(bytes), Number(alignment));
        } catch {
          return 0;
        }
      },
      free_workspace: () => {},
      parallel_for: (env, body, extent, captures) =>
        this.exports.__indirect_function_table.get(body)(env, 0n, extent, captures),
    };
  }

  writeTensor(tensor) {
    const bytes = fs.readFileSync(tensor.memory), data = this.allocate(bytes.length);
    new Uint8Array(this.exports.memory.buffer).set(bytes, data);
    const numbers = (values) => {
      const at = this.allocate(8 * values.length);
      values.forEach((value, i) => this.view().setBigInt64(at + 8 * i, BigInt(value), true));
      return at;
    };
    const shape = numbers(tensor.shape), strides = tensor.strides.length ? numbers(tensor.strides) : 0;
    const at = this.allocate(kViewBytes), view = this.view();
    view.setUint32(at, data, true);
    view.setInt32(at + 4, kCpu, true);
    view.setInt32(at + 8, 0, true);
    view.setInt32(at + 12, tensor.shape.length, true);
    view.setUint8(at + 16, tensor.dtype[0]);
    view.setUint8(at + 17, tensor.dtype[1]);
    view.setUint16(at + 18, tensor.dtype[2], true);
    view.setUint32(at + 20, shape, true);
    view.setUint32(at + 24, strides, true);
    view.setBigUint64(at + 32, BigInt(tensor.byte_offset), true);
    return { at, data, bytes: bytes.length };
  }

  call(name, args) {
    this.top = this.heap;
    this.error = "";
    const values = this.allocate(kAnyBytes * args.length), result = this.allocate(kAnyBytes), tensors = [];
    args.forEach((arg, i) => {
      if (arg.memory) tensors[i] = this.writeTensor(arg);
      const at = values + i * kAnyBytes, view = this.view();
      view.setInt32(at, arg.memory ? kTensorView : "float" in arg ? kFloat : kInt, true);
      view.setUint32(at + 4, 0, true);
      if ("float" in arg) view.setFloat64(at + 8, arg.float, true);
      else view.setBigInt64(at + 8, BigInt(arg.memory ? tensors[i].at : arg.int), true);
    });
    this.view().setInt32(result, kNone, true);
    const status = this.exports[`__tern_${name}`](this.exports.__tern_env.value, values, args.length, result);
    if (status !== 0) throw new Error(this.error || `status ${status}`);
    args.forEach((arg, i) => {
      if (tensors[i])
        fs.writeFileSync(arg.memory,
                         new Uint8Array(this.exports.memory.buffer, tensors[i].data, tensors[i].bytes));
    });
  }
}

const instances = new Map();
const lines = fs.readFileSync(process.argv[process.argv.indexOf("--batch") + 1], "utf8").split("\n").filter(Boolean);
lines.forEach((line, i) => {
  console.log(`call ${i + 1} begins`);
  try {
    const { module, function: name, args } = JSON.parse(line);
    if (!instances.has(module)) instances.set(module, new Instance(module));
    instances.get(module).call(name, args);
    console.log(`call ${i + 1} ok`);
  } catch (error) {
    console.log(`call ${i + 1} failed: ${String(error.message).replaceAll("\n", " ")}`);
  }
});
