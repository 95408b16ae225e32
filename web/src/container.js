// SPDX-License-Identifier: Apache-2.0

// Containers of docs/artifact_format.md, refused as tern/runtime/artifact/container.cc does.
import { check, runtimeError } from "./error.js";
import { bytesToChars } from "./json.js";

const kMagic = "\x7fTERN\r\n\x1a", kVersion = 1, kAlignment = 64, kHeaderSize = 64, kHashSize = 32, kMaxNameSize = 255, kEntrySize = 56;

/** Little-endian integers and length-prefixed bytes; trusts no length. */
export class ByteReader {
  constructor(bytes, what) {
    this.bytes = bytes;
    this.what = what;
  }
  take(size) {
    const { bytes, what } = this;
    check(size <= bytes.length, () => `${what} is truncated: ${size} more bytes expected, ${bytes.length} left`);
    this.bytes = bytes.subarray(Number(size));
    return bytes.subarray(0, Number(size));
  }
  #view(size) {
    const { buffer, byteOffset } = this.take(size);
    return new DataView(buffer, byteOffset);
  }
  uint32() {
    return this.#view(4).getUint32(0, true);
  }
  uint64() {
    return this.#view(8).getBigUint64(0, true);
  }
  sized() {
    return this.take(this.uint64());
  }
  expectEnd() {
    check(this.bytes.length === 0, () => `${this.what} has ${this.bytes.length} bytes too many`);
  }
}

export const isContainer = (bytes) => bytesToChars(bytes.subarray(0, kMagic.length)) === kMagic;

async function hashIs(bytes, expected) {
  if (!globalThis.crypto?.subtle) throw runtimeError("the file cannot be verified: pages need https to have SHA-256");
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).every((byte, i) => byte === expected[i]);
}

export class Container {
  #byName = new Map();

  /** {size}, as a file says it before anything of it is checked. */
  static headerOf(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const isWhole = isContainer(bytes) && bytes.length >= kHeaderSize;
    return { size: isWhole ? Math.min(Number(view.getBigUint64(24, true)), Number.MAX_SAFE_INTEGER) : bytes.length };
  }

  static async open(bytes) {
    const header = new ByteReader(bytes.subarray(0, kHeaderSize), "the container's header");
    check(isContainer(header.take(kMagic.length)), () => "not a Tern container");
    const version = header.uint32();
    check(version === kVersion, () => `container version ${version} is not supported: this runtime reads version ${kVersion}`);
    const count = header.uint32(), tableSize = header.uint64(), totalSize = header.uint64(), hash = header.take(kHashSize);
    check(totalSize === BigInt(bytes.length), () => `the container is ${
      bytes.length < totalSize ? "truncated" : "followed by other bytes"}: ${totalSize} bytes expected, ${bytes.length} found`);
    check(tableSize <= bytes.length - kHeaderSize, () => "the container's table ends beyond its end");
    check(tableSize >= count * (kEntrySize + 1) && tableSize <= count * (kEntrySize + kMaxNameSize),
          () => `the container's table has ${tableSize} bytes, which ${count} sections do not take`);
    const end = kHeaderSize + Number(tableSize), hashed = new Uint8Array(bytes.subarray(kHashSize, end));
    hashed.set(bytes.subarray(0, kHashSize));
    check(await hashIs(hashed, hash), () => "the container's table was altered: its hash is wrong");
    return new Container().#readTable(bytes, bytes.subarray(kHeaderSize, end), count);
  }

  // There is one layout: every byte outside the sections is known.
  #readTable(bytes, table, count) {
    const reader = new ByteReader(table, "the container's table");
    let end = kHeaderSize + table.length, last = "";
    for (let i = 0; i < count; ++i) {
      const name = bytesToChars(reader.sized()), offset = reader.uint64(), size = reader.uint64(), hash = reader.take(kHashSize);
      check(/^[!-~]+$/.test(name) && name.length <= kMaxNameSize, () => `section ${i} of the container has a bad name`);
      check(last < name, () => `section ${name} of the container is out of order`);
      const start = Math.ceil(end / kAlignment) * kAlignment;
      check(offset === BigInt(start) && start <= bytes.length && size <= bytes.length - start,
            () => `section ${name} of the container is out of place: ${size} bytes at ${offset}`);
      check(bytes.subarray(end, start).every((byte) => byte === 0),
            () => `the bytes before section ${name} of the container are not zero`);
      last = name, end = start + Number(size);
      this.#byName.set(name, { bytes: bytes.subarray(start, end), hash });
    }
    reader.expectEnd();
    check(end === bytes.length, () => `the container has ${bytes.length - end} bytes behind its last section`);
    return this;
  }

  get names() {
    return [...this.#byName.keys()];
  }

  /** The section's bytes, verified. */
  async get(name) {
    const section = this.#byName.get(name);
    check(section, () => `the container has no section ${name}; it has ${this.names.join(", ") || "none"}`);
    check(await hashIs(section.bytes, section.hash), () => `section ${name} of the container was altered: its hash is wrong`);
    return section.bytes;
  }
}
