// SPDX-License-Identifier: Apache-2.0

// JSON as Tern's C++ reader takes it: no key twice. Objects become Maps, integers BigInts, floats Numbers.
import { TernError } from "./error.js";

const kMaxDepth = 100, kEscapes = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const kFromUtf8 = new TextDecoder(), kToUtf8 = new TextEncoder();

/** One character for each byte: texts are ordered as bytes are. */
export const bytesToChars = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
export const bytesToText = (bytes) => kFromUtf8.decode(bytes);
const textToChars = (text) => bytesToChars(kToUtf8.encode(text));

export function readJson(bytes) {
  const text = bytesToChars(bytes);
  let at = 0;
  const fail = (what, place = at) => {
    throw new TernError("ValueError", `bad JSON at offset ${place}: ${what}`);
  };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const accept = (word) => {
    match(/[ \t\r\n]*/y);
    const found = text.startsWith(word, at);
    if (found) at += word.length;
    return found;
  };

  const hex4 = (start) => parseInt(match(/[0-9a-fA-F]{4}/y) ?? fail("\\u needs four hexadecimal digits", start), 16);
  const escape = () => {
    const start = at - 1, c = match(/["\\/bfnrt]/y);
    if (c) return kEscapes[c] ?? c;
    if (!match(/u/y)) fail("unknown escape", start);
    let code = hex4(start);
    if (code >= 0xd800 && code < 0xe000) {
      const low = code < 0xdc00 && match(/\\u/y) ? hex4(start) : 0;
      if (low < 0xdc00 || low >= 0xe000) fail("half of a surrogate pair", start);
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return textToChars(String.fromCodePoint(code));
  };
  const string = () => {
    const start = at++;
    for (let chars = ""; ; chars += escape()) {
      chars += match(/[^"\\\0-\x1f]*/y);
      if (at === text.length) fail("the string does not end", start);
      if (text[at] < " ") fail("a control character must be escaped");
      if (text[at++] === '"') return bytesToText(Uint8Array.from(chars, (c) => c.charCodeAt(0)));
    }
  };
  const digits = () => match(/[0-9]+/y) ?? fail("expected a digit");
  const number = () => {
    const start = at;
    match(/-/y);
    if (!match(/0/y)) digits();
    else if (/[0-9]/.test(text[at])) fail("a number may not start with 0");
    const isFloat = [/\./y, /[eE][-+]?/y].filter((part) => match(part) && digits()).length > 0;
    const value = (isFloat ? Number : BigInt)(text.slice(start, at));
    if (isFloat && !Number.isFinite(value)) fail("the number is out of the range of float64", start);
    if (!isFloat && BigInt.asIntN(64, value) !== value) fail("the integer is out of the range of int64", start);
    return value;
  };
  const items = (close, item) => {
    if (accept(close)) return;
    do item(); while (accept(","));
    if (!accept(close)) fail(`expected ',' or '${close}'`);
  };
  const value = (depth) => {
    accept("");
    if (at === text.length) fail("the text ends where a value should be");
    if (depth === kMaxDepth) fail(`nested deeper than ${kMaxDepth}`);
    if (accept("{")) {
      const map = new Map();
      items("}", () => {
        accept("");
        const start = at, key = text[at] === '"' ? string() : fail("expected a key in quotes");
        if (!accept(":")) fail("expected ':' after a key");
        const item = value(depth + 1);
        if (map.has(key)) fail(`key "${key}" stands twice`, start);
        map.set(key, item);
      });
      return map;
    }
    if (accept("[")) {
      const list = [];
      items("]", () => list.push(value(depth + 1)));
      return list;
    }
    if (text[at] === '"') return string();
    for (const word of [null, true, false]) if (accept(String(word))) return word;
    return /[-0-9]/.test(text[at]) ? number() : fail("expected a value");
  };

  const document = value(0);
  if (accept("") && at !== text.length) fail("expected the end of the text");
  return document;
}

const unicode = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
/** On one line. */
export const escaped = (text) => text.replace(/[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, unicode);

/** As Tern writes it: keys in the order of their bytes, no white space. */
export function writeJson(value) {
  const escape = (c) => c < " " && c !== "\n" ? unicode(c) : JSON.stringify(c).slice(1, -1);
  if (typeof value === "string") return `"${value.replace(/["\\\0-\x1f]/g, escape)}"`;
  if (Array.isArray(value)) return `[${value.map(writeJson).join()}]`;
  if (!(value instanceof Map)) return String(value);
  const keys = [...value.keys()].sort((a, b) => textToChars(a) < textToChars(b) ? -1 : 1);
  return `{${keys.map((key) => `${writeJson(key)}:${writeJson(value.get(key))}`).join()}}`;
}
