// SPDX-License-Identifier: Apache-2.0
import { parseType } from "./dtype.js";
import { TernError } from "./error.js";

const kNames = { string: "string", bigint: "int", map: "Map", array: "Array" };

/** A value of readJson in Tern's words, for messages. */
export function describeValue(value) {
  if (value === null) return "none";
  if (typeof value === "bigint") return `int ${value}`;
  if (typeof value === "boolean") return `bool ${value}`;
  if (typeof value === "number") return `float ${Number(value.toPrecision(6))}`;
  if (typeof value === "string") return `string "${value.length <= 40 ? value : `${value.slice(0, 40)}...`}"`;
  return Array.isArray(value) ? "Array" : "Map";
}

/** A value that came from a file, and the path that led to it ("meta.functions[0].name"): every access checks. */
export class ValueReader {
  constructor(path, value) {
    this.path = path;
    this.raw = value;
  }

  fail(what) {
    throw new TernError("ValueError", `${this.path}: ${what}`);
  }
  #as(type, matches) {
    if (!matches) this.fail(`expected ${kNames[type]}, got ${describeValue(this.raw)}`);
    return this.raw;
  }

  map() {
    return this.#as("map", this.raw instanceof Map);
  }
  has(key) {
    return this.map().has(key);
  }
  field(key) {
    if (!this.has(key)) this.fail(`field "${key}" is missing`);
    return new ValueReader(`${this.path}.${key}`, this.raw.get(key));
  }
  /** Refuses fields that nobody reads: they are mistakes, or of a later version. */
  expectOnly(...keys) {
    for (const key of this.map().keys()) if (!keys.includes(key)) this.fail(`field "${key}" is not known`);
  }
  items() {
    return this.#as("array", Array.isArray(this.raw)).map((item, i) => new ValueReader(`${this.path}[${i}]`, item));
  }
  text() {
    return this.#as("string", typeof this.raw === "string");
  }
  flag() {
    if (typeof this.raw !== "boolean") this.fail(`expected bool, got ${describeValue(this.raw)}`);
    return this.raw;
  }
  /** An integer that a Number holds. */
  int(least, most) {
    const value = typeof this.raw === "boolean" ? BigInt(this.raw) : this.#as("bigint", typeof this.raw === "bigint");
    if (value < least || value > most) this.fail(`expected ${least} to ${most}, got ${value}`);
    return Number(value);
  }
  type() {
    const name = this.text(), type = parseType(name);
    if (!type) this.fail(`"${name}" is not a data type`);
    return type;
  }
}
