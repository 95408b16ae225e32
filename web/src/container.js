// SPDX-License-Identifier: Apache-2.0

// Containers of docs/artifact_format.md. What tern/runtime/container.cc refuses is refused here, with the same words.
import { check, TernError } from "./error.js";
import { bytesToChars } from "./json.js";
import { sameBytes, sha256 } from "./sha256.js";

const kMagic = "\x7fTERN\r\n\x1a", kVersion = 1;
const kHeaderSize = 64, kHashedHeaderSize = 32, kHashSize = 32, kAlignment = 64, kMaxNameSize = 255;

const alignUp = (offset) => Math.ceil(offset / kAlignment) * kAlignment;

/** Little-endian integers and length-prefixed bytes; trusts no length. */
export class ByteReader {
  #bytes;
  #what;
  constructor(bytes, what) {
    this.#bytes = bytes;
    this.#what = what;
  }
  take(size) {
    check(size <= this.#bytes.length,
          () => `${this.#what} is truncated: ${size} more bytes expected, ${this.#bytes.length} left`);
    const taken = this.#bytes.subarray(0, Number(size));
    this.#bytes = this.#bytes.subarray(Number(size));
    return taken;
  }
  #view(size) {
    const bytes = this.take(size);
    return new DataView(bytes.buffer, bytes.byteOffset, size);
  }
  uint32() {
    return this.#view(4).getUint32(0, true);
  }
  /** A BigInt: what a file says may be more than a Number holds. */
  uint64() {
    return this.#view(8).getBigUint64(0, true);
  }
  sized() {
    return this.take(this.uint64());
  }
  expectEnd() {
    check(this.#bytes.length === 0, () => `${this.#what} has ${this.#bytes.length} bytes too many`);
  }
}

const startsWithMagic = (bytes) => bytesToChars(bytes.subarray(0, kMagic.length)) === kMagic;
export const isContainer = startsWithMagic;

export class Container {
  /** In order: {name, bytes, sha256}. The bytes are not verified: see get(). */
  sections = [];

  constructor(bytes) {
    const header = new ByteReader(bytes.subarray(0, kHeaderSize), "the container's header");
    check(bytesToChars(header.take(kMagic.length)) === kMagic, () => "not a Tern container");
    const version = header.uint32();
    check(version === kVersion,
          () => `container version ${version} is not supported: this runtime reads version ${kVersion}`);
    const count = header.uint32(), tableSize = header.uint64(), totalSize = header.uint64();
    const tableHash = header.take(kHashSize);
    check(totalSize === BigInt(bytes.length), () => `the container is ${
      bytes.length < totalSize ? "truncated" : "followed by other bytes"}: ${totalSize} bytes expected, ${bytes.length} found`);
    check(tableSize <= bytes.length - kHeaderSize, () => "the container's table ends beyond its end");
    const table = bytes.subarray(kHeaderSize, kHeaderSize + Number(tableSize));
    check(sameBytes(sha256(bytes.subarray(0, kHashedHeaderSize), table), tableHash),
          () => "the container's table was altered: its hash is wrong");
    this.#readTable(bytes, table, count);
  }

  // There is one legal layout, so every byte outside the sections is known.
  #readTable(bytes, table, count) {
    const reader = new ByteReader(table, "the container's table");
    let end = kHeaderSize + table.length, last = "";
    for (let i = 0; i < count; ++i) {
      const name = bytesToChars(reader.sized()), offset = reader.uint64(), size = reader.uint64(), hash = reader.take(kHashSize);
      check(/^[!-~]+$/.test(name) && name.length <= kMaxNameSize, () => `section ${i} of the container has a bad name`);
      check(i === 0 || last < name, () => `section ${name} of the container is out of order`);
      check(offset === BigInt(alignUp(end)) && offset <= bytes.length && size <= BigInt(bytes.length) - offset,
            () => `section ${name} of the container is out of place: ${size} bytes at ${offset}`);
      const start = Number(offset);
      check(bytes.subarray(end, start).every((byte) => byte === 0),
            () => `the bytes before section ${name} of the container are not zero`);
      last = name, end = start + Number(size);
      this.sections.push({ name, bytes: bytes.subarray(start, end), sha256: hash });
    }
    reader.expectEnd();
    check(end === bytes.length, () => `the container has ${bytes.length - end} bytes behind its last section`);
  }

  has(name) {
    return this.sections.some((section) => section.name === name);
  }

  /** The section's bytes, verified. */
  get(name) {
    const section = this.sections.find((candidate) => candidate.name === name);
    if (!section)
      throw new TernError("ValueError", `the container has no section ${name}; it has ${
        this.sections.map((other) => other.name).join(", ")}`);
    check(sameBytes(sha256(section.bytes), section.sha256),
          () => `section ${name} of the container was altered: its hash is wrong`);
    return section.bytes;
  }
}
