// SPDX-License-Identifier: Apache-2.0

// Data types as DLPack numbers them, their typed arrays, narrow floats.
import { typeError } from "./error.js";

const kInt = 0, kUInt = 1, kFloat = 2, kHandle = 3, kBool = 6, kMaxLanes = 32767;

// By name: the code, the bits, and the array of elements as they are.
const kScalars = {
  __proto__: null, bool: [kBool, 8, Uint8Array], handle: [kHandle, 64],
  int4: [kInt, 4], int8: [kInt, 8, Int8Array], int16: [kInt, 16, Int16Array], int32: [kInt, 32, Int32Array], int64: [kInt, 64, BigInt64Array],
  uint4: [kUInt, 4], uint8: [kUInt, 8, Uint8Array], uint16: [kUInt, 16, Uint16Array], uint32: [kUInt, 32, Uint32Array],
  uint64: [kUInt, 64, BigUint64Array],
  float16: [kFloat, 16, Uint16Array], float32: [kFloat, 32, Float32Array], float64: [kFloat, 64, Float64Array],
  bfloat16: [4, 16, Uint16Array], float8_e4m3fn: [10, 8, Uint8Array], float8_e5m2: [12, 8, Uint8Array],
  float8_e4m3fnuz: [11, 8], float8_e5m2fnuz: [13, 8], float4_e2m1fn: [17, 4],
};

/** {name, code, bits, lanes} of a type's name; null where it is none. */
export function parseType(name) {
  const [, scalar, vector, scalable, lanes = "1"] = /^([^x]*)(x(vscalex)?([1-9][0-9]*))?$/.exec(name) ?? [];
  if (!kScalars[scalar]) return null;
  const [code, bits, array] = kScalars[scalar], count = Number(lanes);
  if (vector && (count < 2 || count > kMaxLanes || !array)) return null;
  return { name, code, bits, lanes: scalable ? -count : count };
}

/** Of a tensor's elements: with `bytes` and `array`. */
export function tensorType(name) {
  const array = kScalars[name]?.[2];
  if (array) return { ...parseType(name), bytes: array.BYTES_PER_ELEMENT, array };
  const legal = Object.keys(kScalars).filter((other) => kScalars[other][2]);
  throw typeError(`${name} is no type of a tensor's elements; there are ${legal.join(", ")}`);
}

export const typeName = (code, bits) =>
  Object.keys(kScalars).find((name) => kScalars[name][0] === code && kScalars[name][1] === bits) ?? `type(${code}, ${bits})`;

export const isFloat = ({ code }) => ![kInt, kUInt, kHandle, kBool].includes(code);
export const isHandle = ({ code }) => code === kHandle;

/** Whether an integer type has the value, a BigInt; 64 bits hold every pattern. */
export function fits({ code, bits }, value) {
  if (code === kBool) return value === 0n || value === 1n;
  return bits === 64 || value === (code === kUInt ? BigInt.asUintN : BigInt.asIntN)(bits, value);
}

export function typeOfArray(array) {
  const name = array.constructor.name.toLowerCase().replace(/^big|clamped|array$/g, "");
  return kScalars[name] ? name : tensorType(array.constructor.name).name;
}

// Narrow floats: mantissa bits, exponent bias, the bits of the largest number, of infinity and of NaN.
const kNarrow = {
  float16: [10, 15, 0x7bff, 0x7c00, 0x7e00], bfloat16: [7, 127, 0x7f7f, 0x7f80, 0x7fc0],
  float8_e4m3fn: [3, 7, 0x7e, 0x7f, 0x7f], float8_e5m2: [2, 15, 0x7b, 0x7c, 0x7e],
};
export const isNarrowFloat = (name) => Object.hasOwn(kNarrow, name);

function narrow(value, name) {
  const [mantissa, bias, largest, infinity, nan] = kNarrow[name], least = 1 - bias, magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? 1 << (kScalars[name][1] - 1) : 0;
  if (Number.isNaN(value)) return nan;
  if (magnitude === Infinity) return sign | infinity;
  // The exponent, exactly: as the bits of a float64 say it.
  const stored = (new Uint32Array(new Float64Array([magnitude]).buffer)[1] >> 20) - 1023, exponent = Math.max(least, stored);
  const scaled = magnitude * 2 ** (mantissa - exponent), below = Math.floor(scaled), rest = scaled - below;
  const bits = (exponent - least) * 2 ** mantissa + below + (rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? 1 : 0);
  return sign | (bits > largest ? infinity : bits);
}

function widen(bits, name) {
  const [mantissa, bias, largest, infinity, nan] = kNarrow[name], top = 1 << (kScalars[name][1] - 1);
  const sign = bits & top ? -1 : 1, magnitude = bits & (top - 1), exponent = magnitude >> mantissa;
  if (magnitude > largest) return magnitude === infinity && infinity !== nan ? sign * Infinity : NaN;
  const fraction = (magnitude % 2 ** mantissa) + (exponent ? 2 ** mantissa : 0);
  return sign * fraction * 2 ** (Math.max(exponent, 1) - bias - mantissa);
}

export const fromFloats = (values, name) => tensorType(name).array.from(values, (value) => narrow(Number(value), name));
export const toFloats = (bits, name) => Float32Array.from(bits, (value) => widen(value, name));
