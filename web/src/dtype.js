// SPDX-License-Identifier: Apache-2.0

// Data types as DLPack numbers them, the typed arrays that hold them, and narrow floats.
import { TernError } from "./error.js";

const kInt = 0, kUInt = 1, kFloat = 2, kHandle = 3, kBfloat = 4, kBool = 6;
const kMaxLanes = 32767;

// By name: the code, the bits, and the array that holds elements as they are.
const kScalars = {
  bool: [kBool, 8, Uint8Array],
  int4: [kInt, 4], int8: [kInt, 8, Int8Array], int16: [kInt, 16, Int16Array], int32: [kInt, 32, Int32Array],
  int64: [kInt, 64, BigInt64Array],
  uint4: [kUInt, 4], uint8: [kUInt, 8, Uint8Array], uint16: [kUInt, 16, Uint16Array], uint32: [kUInt, 32, Uint32Array],
  uint64: [kUInt, 64, BigUint64Array],
  float16: [kFloat, 16, Uint16Array], bfloat16: [kBfloat, 16, Uint16Array],
  float32: [kFloat, 32, Float32Array], float64: [kFloat, 64, Float64Array],
  handle: [kHandle, 64],
  float8_e4m3fn: [10, 8, Uint8Array], float8_e4m3fnuz: [11, 8], float8_e5m2: [12, 8, Uint8Array], float8_e5m2fnuz: [13, 8],
};
const kOnlyStored = ["int4", "uint4", "float8_e4m3fnuz", "float8_e5m2fnuz"];

/** {name, code, bits, lanes} of a type's name; null where it is none. Vectors of an unknown length have negative lanes. */
export function parseType(name) {
  const [, scalar, scalable, lanes = "1"] = /^([^x]*)(?:x(vscalex)?([1-9][0-9]*))?$/.exec(name) ?? [];
  if (!scalar || !Object.hasOwn(kScalars, scalar)) return null;
  const isVector = name !== scalar, count = Number(lanes);
  if (isVector && (count < 2 || count > kMaxLanes || scalar === "handle" || kOnlyStored.includes(scalar))) return null;
  const [code, bits] = kScalars[scalar];
  return { name, code, bits, lanes: scalable ? -count : count };
}

/** Of DLPack's numbers, for messages. */
export const typeName = (code, bits) =>
  Object.keys(kScalars).find((name) => kScalars[name][0] === code && kScalars[name][1] === bits) ?? `type(${code}, ${bits})`;

/** Of a tensor's elements. */
export function tensorType(name) {
  const type = parseType(name), array = type?.lanes === 1 && kScalars[name][2];
  if (!array) {
    const legal = Object.keys(kScalars).filter((other) => kScalars[other][2]);
    throw new TernError("TypeError", `${name} is no type of a tensor's elements; there are ${legal.join(", ")}`);
  }
  return { ...type, bytes: type.bits / 8, array };
}

export const isFloat = (type) => ![kInt, kUInt, kHandle, kBool].includes(type.code);
export const isHandle = (type) => type.code === kHandle;

/** Whether an integer of that type can have the value, a BigInt. 64 bits hold every bit pattern. */
export function fits(type, value) {
  if (type.code === kBool) return value === 0n || value === 1n;
  if (type.bits === 64) return true;
  const range = 1n << BigInt(type.code === kUInt ? type.bits : type.bits - 1);
  return value < range && value >= (type.code === kUInt ? 0n : -range);
}

/** The type whose elements the array holds. */
export function typeOfArray(array) {
  if (globalThis.Float16Array && array instanceof globalThis.Float16Array) return "float16";
  if (array instanceof Uint8ClampedArray) return "uint8";
  const names = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"];
  const name = names.find((candidate) => array instanceof kScalars[candidate][2]);
  if (!name) throw new TernError("TypeError", "expected a typed array");
  return name;
}

// Floats of 8 and 16 bits: mantissa bits, exponent bias, the bits of the largest number, of infinity (or what stands for it) and of NaN.
const kNarrow = {
  float16: [10, 15, 0x7bff, 0x7c00, 0x7e00], bfloat16: [7, 127, 0x7f7f, 0x7f80, 0x7fc0],
  float8_e4m3fn: [3, 7, 0x7e, 0x7f, 0x7f], float8_e5m2: [2, 15, 0x7b, 0x7c, 0x7e],
};

function narrow(value, name) {
  const [mantissa, bias, largest, infinity, nan] = kNarrow[name];
  const sign = value < 0 || Object.is(value, -0) ? 1 << (tensorType(name).bits - 1) : 0, magnitude = Math.abs(value);
  if (Number.isNaN(value)) return nan;
  if (magnitude === 0) return sign;
  if (magnitude === Infinity) return sign | infinity;
  const least = 1 - bias;
  // The exponent, exactly: as the bits of a float64 say it.
  const exponent = Math.max(least, Number((new BigUint64Array(new Float64Array([magnitude]).buffer)[0] >> 52n) & 0x7ffn) - 1023);
  const scaled = magnitude * 2 ** (mantissa - exponent), below = Math.floor(scaled), rest = scaled - below;
  const rounded = below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
  const bits = (exponent - least) * 2 ** mantissa + rounded;
  return sign | (bits > largest ? infinity : bits);
}

function widen(bits, name) {
  const [mantissa, bias, largest, infinity] = kNarrow[name];
  const top = 1 << (tensorType(name).bits - 1), sign = bits & top ? -1 : 1, magnitude = bits & (top - 1);
  if (magnitude > largest) return magnitude === infinity && name !== "float8_e4m3fn" ? sign * Infinity : NaN;
  const exponent = magnitude >> mantissa, fraction = magnitude & ((1 << mantissa) - 1);
  return sign * (exponent ? fraction + (1 << mantissa) : fraction) * 2 ** (Math.max(exponent, 1) - bias - mantissa);
}

/** Numbers as the bits of floats of 8 or 16 bits, rounded to nearest even. */
export const fromFloats = (values, name) => tensorType(name).array.from(values, (value) => narrow(Number(value), name));

/** The numbers that bits of floats of 8 or 16 bits stand for. */
export const toFloats = (bits, name) => Float32Array.from(bits, (value) => widen(value, name));

export const isNarrowFloat = (name) => Object.hasOwn(kNarrow, name);
