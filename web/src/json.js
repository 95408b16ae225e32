// SPDX-License-Identifier: Apache-2.0

// JSON as Tern's C++ reader takes it: no key twice, integers apart from floats. Objects become Maps, integers BigInts, floats Numbers.
// The text is bytes, one to a character; strings are decoded one by one, so that an error's offset counts bytes.
import { TernError } from "./error.js";

const kMaxDepth = 100, kInt64 = 2n ** 63n;
const kEscapes = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const kUtf8 = new TextDecoder(), kToUtf8 = new TextEncoder();

export const bytesToChars = (bytes) => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
};
const charsToText = (chars) => kUtf8.decode(Uint8Array.from(chars, (c) => c.charCodeAt(0)));

class JsonReader {
  constructor(bytes) {
    this.text = bytesToChars(bytes);
    this.at = 0;
  }

  document() {
    const value = this.value(0);
    this.space();
    if (this.at !== this.text.length) this.fail("expected the end of the text");
    return value;
  }

  fail(what, at = this.at) {
    throw new TernError("ValueError", `bad JSON at offset ${at}: ${what}`);
  }
  space() {
    while (this.at < this.text.length && " \t\r\n".includes(this.text[this.at])) ++this.at;
  }
  accept(word) {
    const found = this.text.startsWith(word, this.at);
    if (found) this.at += word.length;
    return found;
  }

  value(depth) {
    this.space();
    if (this.at === this.text.length) this.fail("the text ends where a value should be");
    if (depth === kMaxDepth) this.fail(`nested deeper than ${kMaxDepth}`);
    if (this.accept("{")) return this.object(depth);
    if (this.accept("[")) return this.list(depth);
    if (this.text[this.at] === '"') return this.string();
    if (this.accept("null")) return null;
    if (this.accept("true")) return true;
    if (this.accept("false")) return false;
    if (/[-0-9]/.test(this.text[this.at])) return this.number();
    return this.fail("expected a value");
  }

  object(depth) {
    const map = new Map();
    this.space();
    if (this.accept("}")) return map;
    do {
      this.space();
      const start = this.at;
      if (this.text[this.at] !== '"') this.fail("expected a key in quotes");
      const key = this.string();
      this.space();
      if (!this.accept(":")) this.fail("expected ':' after a key");
      const value = this.value(depth + 1);
      if (map.has(key)) this.fail(`key "${key}" stands twice`, start);
      map.set(key, value);
      this.space();
    } while (this.accept(","));
    if (!this.accept("}")) this.fail("expected ',' or '}'");
    return map;
  }

  list(depth) {
    const items = [];
    this.space();
    if (this.accept("]")) return items;
    do {
      items.push(this.value(depth + 1));
      this.space();
    } while (this.accept(","));
    if (!this.accept("]")) this.fail("expected ',' or ']'");
    return items;
  }

  string() {
    const start = this.at++;
    let chars = "";
    while (this.at < this.text.length) {
      const c = this.text[this.at];
      if (c < " ") this.fail("a control character must be escaped");
      ++this.at;
      if (c === '"') return charsToText(chars);
      chars += c === "\\" ? this.escape() : c;
    }
    return this.fail("the string does not end", start);
  }

  escape() {
    const start = this.at - 1, c = this.text[this.at];
    if (c in kEscapes) return ++this.at, kEscapes[c];
    if (!this.accept("u")) this.fail("unknown escape", start);
    let code = this.hex4(start);
    if (code >= 0xdc00 && code < 0xe000) this.fail("half of a surrogate pair", start);
    if (code >= 0xd800 && code < 0xdc00) {
      if (!this.accept("\\u")) this.fail("half of a surrogate pair", start);
      const low = this.hex4(start);
      if (low < 0xdc00 || low >= 0xe000) this.fail("half of a surrogate pair", start);
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return bytesToChars(kToUtf8.encode(String.fromCodePoint(code)));
  }

  hex4(start) {
    const digits = this.text.slice(this.at, this.at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail("\\u needs four hexadecimal digits", start);
    this.at += 4;
    return parseInt(digits, 16);
  }

  digits() {
    const isDigit = () => this.text[this.at] >= "0" && this.text[this.at] <= "9";
    if (!isDigit()) this.fail("expected a digit");
    while (isDigit()) ++this.at;
  }

  number() {
    const start = this.at;
    let isFloat = false;
    this.accept("-");
    if (!this.accept("0")) this.digits();
    if (/[0-9]/.test(this.text[this.at] ?? "")) this.fail("a number may not start with 0");
    if (this.accept(".")) isFloat = true, this.digits();
    if (this.accept("e") || this.accept("E")) {
      isFloat = true;
      if (!this.accept("-")) this.accept("+");
      this.digits();
    }
    const text = this.text.slice(start, this.at);
    const value = isFloat ? Number(text) : BigInt(text);
    if (isFloat && !Number.isFinite(value)) this.fail("the number is out of the range of float64", start);
    if (!isFloat && (value >= kInt64 || value < -kInt64)) this.fail("the integer is out of the range of int64", start);
    return value;
  }
}

export const readJson = (bytes) => new JsonReader(bytes).document();

/** As Tern writes it: keys in the order of their bytes, no white space. Takes what readJson gives. */
export function writeJson(value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string")
    // eslint-disable-next-line no-control-regex
    return `"${value.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")
      .replace(/[\0-\x1f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (value instanceof Map)
    return `{${[...value].sort(([a], [b]) => compareText(a, b))
      .map(([key, item]) => `${writeJson(key)}:${writeJson(item)}`).join(",")}}`;
  return String(value);
}

/** By their bytes in UTF-8, which is the order of their code points. */
export function compareText(a, b) {
  const [x, y] = [a, b].map((text) => kToUtf8.encode(text));
  const at = x.findIndex((byte, i) => byte !== y[i]);
  return at < 0 ? x.length - y.length : x[at] - (y[at] ?? -1);
}
