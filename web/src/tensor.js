// SPDX-License-Identifier: Apache-2.0
import { fromFloats, isNarrowFloat, tensorType, toFloats, typeOfArray } from "./dtype.js";
import { check, shapeText, typeError } from "./error.js";

const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

function checkNumbers(numbers, what, least) {
  check(Array.isArray(numbers) && numbers.every((n) => Number.isSafeInteger(n) && n >= least),
        () => `expected a list of ${what}, got ${JSON.stringify(numbers)}`);
  return Object.freeze([...numbers]);
}

/** The elements, of a typed array or converted, as bytes, and their type. */
function elementsOf(values, dtype) {
  const isArray = Array.isArray(values);
  check(isArray || ArrayBuffer.isView(values), () => "expected a typed array or an array of numbers");
  const type = tensorType(dtype ?? (isArray ? "float32" : typeOfArray(values)));
  if (isNarrowFloat(type.name) && (isArray || values instanceof Float32Array)) values = fromFloats(values, type.name);
  else if (isArray) values = type.array.from(values, type.array.name.startsWith("Big") ? BigInt : Number);
  if (!(values instanceof type.array) && typeOfArray(values) !== type.name)
    throw typeError(`expected ${type.array.name} for ${type.name}, got ${values.constructor.name}`);
  return { type, bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

/** `memory` is a DeviceMemory or a Uint8Array. */
export class Tensor {
  constructor(device, memory, { dtype, shape, strides = null, byteOffset = 0 }) {
    const type = tensorType(dtype);
    Object.assign(this, { device, memory, type, dtype, byteOffset });
    this.shape = checkNumbers(shape, "extents", 0);
    this.strides = strides && checkNumbers(strides, "strides", -Infinity);
    check(!strides || strides.length === shape.length, () => `there are ${strides.length} strides for ${shape.length} axes`);
    check(Number.isSafeInteger(byteOffset) && byteOffset % type.bytes === 0,
          () => `expected a byte offset that is a multiple of ${type.bytes}, got ${byteOffset}`);
    const [first, last] = this.#span();
    check(first >= 0 && last <= memory.byteLength,
          () => `a ${dtype} tensor of shape ${shapeText(shape)} takes bytes ${first} to ${last} of ${memory.byteLength}`);
  }

  // From its first to behind its last byte.
  #span() {
    let low = 0, high = this.size;
    if (this.strides && high) {
      const reach = this.shape.map((extent, d) => (extent - 1) * this.strides[d]);
      high = reach.reduce((sum, r) => sum + Math.max(r, 0), 1);
      low = reach.reduce((sum, r) => sum + Math.min(r, 0), 0);
    }
    return [low, high].map((element) => this.byteOffset + element * this.type.bytes);
  }

  get size() {
    return sizeOf(this.shape);
  }
  get byteLength() {
    return this.size * this.type.bytes;
  }

  view({ dtype = this.dtype, shape = this.shape, strides = null, byteOffset = 0 } = {}) {
    return new Tensor(this.device, this.memory, { dtype, shape, strides, byteOffset: this.byteOffset + byteOffset });
  }

  async data() {
    const [first, last] = this.#span(), { array, bytes } = this.type;
    const { buffer } = this.device === "cpu" ? this.memory.slice(first, last) : await this.memory.read(first, last - first);
    const elements = new array(buffer);
    return this.strides ? this.#gather(elements, (this.byteOffset - first) / bytes) : elements;
  }

  #gather(elements, start) {
    const result = new this.type.array(this.size), steps = this.shape.map((_, d) => sizeOf(this.shape.slice(d + 1)));
    return result.map((_, i) =>
      elements[this.strides.reduce((at, stride, d) => at + stride * (Math.floor(i / steps[d]) % this.shape[d]), start)]);
  }

  async values() {
    const data = await this.data();
    return isNarrowFloat(this.dtype) ? toFloats(data, this.dtype) : data;
  }

  write(values) {
    const { bytes } = elementsOf(values, this.dtype);
    check(!this.strides, () => "expected a compact tensor to write to");
    checkCount(bytes.length / this.type.bytes, this.shape);
    if (this.device === "cpu") this.memory.set(bytes, this.byteOffset);
    else this.memory.write(this.byteOffset, bytes);
  }

  dispose() {
    if (this.device !== "cpu") this.memory.dispose();
  }
}

const checkCount = (count, shape) =>
  check(count === sizeOf(shape), () => `expected ${sizeOf(shape)} elements for shape ${shapeText(shape)}, got ${count}`);

export class Place {
  #device;
  #allocate;

  /** `allocate` makes memory of so many bytes, or with those in it. */
  constructor(device, allocate) {
    this.#device = device;
    this.#allocate = allocate;
  }

  tensor(values, shape, dtype) {
    const { type, bytes } = elementsOf(values, dtype), count = bytes.length / type.bytes;
    checkCount(count, shape = checkNumbers(shape ?? [count], "extents", 0));
    return new Tensor(this.#device, this.#allocate(bytes.length, bytes), { dtype: type.name, shape });
  }
  zeros(shape, dtype = "float32") {
    const size = sizeOf(checkNumbers(shape, "extents", 0));
    return new Tensor(this.#device, this.#allocate(size * tensorType(dtype).bytes), { dtype, shape });
  }
}

export const host = new Place("cpu", (size, bytes) => bytes?.slice() ?? new Uint8Array(size));
