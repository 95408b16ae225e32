// SPDX-License-Identifier: Apache-2.0
import { parseType } from "./dtype.js";
import { TernError } from "./error.js";

/** A value of readJson in Tern's words, for messages. */
export function describeValue(value) {
  if (value === null) return "none";
  if (typeof value === "bigint") return `int ${value}`;
  if (typeof value === "boolean") return `bool ${value}`;
  if (typeof value === "number") {
    const [digits, sign, power] = value.toExponential(5).split(/e(.)/);
    return `float ${power > (sign < "-" ? 5 : 4) ? `${+digits}e${sign}${power.padStart(2, 0)}` : +value.toPrecision(6)}`;
  }
  if (typeof value === "string") return `string "${value.length <= 40 ? value : `${value.slice(0, 40)}...`}"`;
  return Array.isArray(value) ? "Array" : "Map";
}

/** A value of a file, and its path ("meta.functions[0].name"): every access checks. */
export class ValueReader {
  constructor(path, value) {
    this.path = path;
    this.value = value;
  }

  fail(what) {
    throw new TernError("ValueError", `${this.path}: ${what}`);
  }
  #expect(name, holds) {
    if (!holds) this.fail(`expected ${name}, got ${describeValue(this.value)}`);
    return this.value;
  }

  has(key) {
    return this.#expect("Map", this.value instanceof Map).has(key);
  }
  field(key) {
    if (!this.has(key)) this.fail(`field "${key}" is missing`);
    return new ValueReader(`${this.path}.${key}`, this.value.get(key));
  }
  /** Fields, each read by a method or a function; one whose name ends in "?" may be missing. */
  record(readers) {
    const result = {}, known = Object.entries(readers).map(([key, read]) => {
      const name = key.replace("?", "");
      if (name === key || this.has(name)) result[name] = typeof read === "string" ? this.field(name)[read]() : read(this.field(name));
      return name;
    });
    for (const key of this.value.keys()) if (!known.includes(key)) this.fail(`field "${key}" is not known`);
    return result;
  }
  items(read) {
    return this.#expect("Array", Array.isArray(this.value)).map((item, i) => read(new ValueReader(`${this.path}[${i}]`, item)));
  }
  text() {
    return this.#expect("string", typeof this.value === "string");
  }
  texts() {
    return this.items((item) => item.text());
  }
  flag() {
    return this.#expect("bool", typeof this.value === "boolean");
  }
  int(least, most) {
    const value = BigInt(this.#expect("int", ["bigint", "boolean"].includes(typeof this.value)));
    if (value < least || value > most) this.fail(`expected ${least} to ${most}, got ${value}`);
    return Number(value);
  }
  type() {
    return parseType(this.text()) ?? this.fail(`"${this.value}" is not a data type`);
  }
}
