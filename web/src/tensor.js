// SPDX-License-Identifier: Apache-2.0
import { fromFloats, isNarrowFloat, tensorType, toFloats, typeOfArray } from "./dtype.js";
import { check, TernError } from "./error.js";

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
const shapeText = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

export function checkShape(shape, what = "extent") {
  check(Array.isArray(shape) && shape.every((extent) => Number.isSafeInteger(extent) && (extent >= 0 || what !== "extent")),
        () => `expected a list of ${what}s that are whole numbers, got ${JSON.stringify(shape)}`);
  return [...shape];
}

/** The elements as bytes, and their type: those of a typed array, or numbers that are converted. */
export function elementsOf(values, dtype) {
  if (!ArrayBuffer.isView(values)) {
    check(Array.isArray(values), () => "expected a typed array or an array of numbers");
    dtype ??= "float32";
    const type = tensorType(dtype), isBig = type.bits === 64 && type.code < 2;
    values = isNarrowFloat(dtype) ? fromFloats(values, dtype) : type.array.from(values, isBig ? BigInt : Number);
  } else if (dtype && isNarrowFloat(dtype) && values instanceof Float32Array) {
    values = fromFloats(values, dtype);
  }
  const given = typeOfArray(values), type = tensorType(dtype ?? given);
  if (type.name !== given && !(values instanceof type.array))
    throw new TernError("TypeError", `expected ${type.array.name} for ${type.name}, got ${values.constructor.name}`);
  return { type, bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) };
}

/**
 * Elements in memory of a device or of the host. `memory` is the device's (memory.js) or a Uint8Array of the host; strides count elements, and
 * null means compact, row major.
 */
export class Tensor {
  constructor(device, memory, { dtype, shape, strides = null, byteOffset = 0 }) {
    this.device = device;
    this.memory = memory;
    this.type = tensorType(dtype);
    this.dtype = this.type.name;
    this.shape = checkShape(shape);
    this.strides = strides && checkShape(strides, "stride");
    this.byteOffset = byteOffset;
    Object.freeze(this.shape);
    this.#checkPlace();
  }

  // Every element lies in the memory.
  #checkPlace() {
    check(!this.strides || this.strides.length === this.shape.length,
          () => `there are ${this.strides.length} strides for ${this.shape.length} axes`);
    check(Number.isSafeInteger(this.byteOffset) && this.byteOffset >= 0 && this.byteOffset % this.type.bytes === 0,
          () => `expected a byte offset that is a multiple of ${this.type.bytes}, got ${this.byteOffset}`);
    const [first, last] = this.#span(), bytes = this.memory.byteLength;
    check(first >= 0 && last <= bytes,
          () => `a ${this.dtype} tensor of shape ${shapeText(this.shape)} takes bytes ${first} to ${last} of ${bytes}`);
  }

  // The bytes from its first to behind its last element.
  #span() {
    if (this.size === 0) return [this.byteOffset, this.byteOffset];
    let [low, high] = [0, 0];
    if (!this.strides) high = this.size - 1;
    else this.shape.forEach((extent, d) => {
      const reach = (extent - 1) * this.strides[d];
      if (reach < 0) low += reach;
      else high += reach;
    });
    return [this.byteOffset + low * this.type.bytes, this.byteOffset + (high + 1) * this.type.bytes];
  }

  get size() {
    return product(this.shape);
  }
  get byteLength() {
    return this.size * this.type.bytes;
  }

  /** Another look at the same memory; what is not said stays. A byte offset counts from the start of this tensor. */
  view({ dtype = this.dtype, shape = this.shape, strides = null, byteOffset = 0 } = {}) {
    return new Tensor(this.device, this.memory, { dtype, shape, strides, byteOffset: this.byteOffset + byteOffset });
  }

  /** The elements in row-major order, as a typed array of its own; floats of 8 and 16 bits as their bits. */
  async data() {
    const [first, last] = this.#span();
    const bytes = this.device === "cpu" ? this.memory.slice(first, last) : await this.memory.read(first, last - first);
    const elements = new this.type.array(bytes.buffer, bytes.byteOffset, (last - first) / this.type.bytes);
    return this.strides ? this.#gather(elements, (this.byteOffset - first) / this.type.bytes) : elements;
  }

  #gather(elements, start) {
    const result = new this.type.array(this.size), index = this.shape.map(() => 0);
    for (let i = 0, at = start; i < result.length; ++i) {
      result[i] = elements[at];
      for (let d = index.length - 1; d >= 0; --d) {
        at += this.strides[d];
        if (++index[d] < this.shape[d]) break;
        at -= this.strides[d] * this.shape[d];
        index[d] = 0;
      }
    }
    return result;
  }

  /** The elements as numbers: like data(), but floats of 8 and 16 bits are converted. */
  async values() {
    const data = await this.data();
    return isNarrowFloat(this.dtype) ? toFloats(data, this.dtype) : data;
  }

  /** Replaces all elements, which are given as to device.tensor(). The tensor is compact. */
  write(values) {
    const { bytes } = elementsOf(values, this.dtype);
    check(!this.strides, () => "expected a compact tensor to write to");
    check(bytes.length === this.byteLength,
          () => `expected ${this.size} elements for shape ${shapeText(this.shape)}, got ${bytes.length / this.type.bytes}`);
    if (this.device === "cpu") this.memory.set(bytes, this.byteOffset);
    else this.memory.write(this.byteOffset, bytes);
    return this;
  }

  /** Gives the memory back, that of all views of it too. */
  dispose() {
    if (this.device !== "cpu") this.memory.dispose();
  }
}

/** A tensor from elements. `allocate` makes memory with the bytes in it. */
export function makeTensor(device, allocate, values, shape, dtype) {
  const { type, bytes } = elementsOf(values, dtype), count = bytes.length / type.bytes;
  shape = checkShape(shape ?? [count]);
  check(product(shape) === count, () => `expected ${product(shape)} elements for shape ${shapeText(shape)}, got ${count}`);
  return new Tensor(device, allocate(bytes), { dtype: type.name, shape });
}

/** A tensor in memory of the host. */
export const hostTensor = (values, shape, dtype) => makeTensor("cpu", (bytes) => bytes.slice(), values, shape, dtype);

/** One of zeros. */
export const hostZeros = (shape, dtype = "float32") =>
  new Tensor("cpu", new Uint8Array(product(checkShape(shape)) * tensorType(dtype).bytes), { dtype, shape });
