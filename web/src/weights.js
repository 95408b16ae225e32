// SPDX-License-Identifier: Apache-2.0

// The weights of a model's file (docs/artifact_format.md#weights), behind its container.
import { ByteReader } from "./container.js";
import { typeName } from "./dtype.js";
import { check, runtimeError } from "./error.js";
import { bytesToText } from "./json.js";

const kVersion = 1, kPiece = 4 << 20, kHashSize = 32, kAlignment = 64, kMaxRank = 32n, kPage = 4096;

export const weightsStart = (size) => Math.ceil(size / kPage) * kPage;

/** {dataBytes, entries: [{name, dtype, shape, offset}], hashes} */
export function readTable(bytes) {
  const reader = new ByteReader(bytes, "the table of weights"), version = reader.uint32(), entries = [], hashes = [];
  check(version === kVersion, () => `version ${version} of the table of weights is not supported: this runtime reads version ${kVersion}`);
  const dataBytes = Number(reader.uint64());
  for (let count = reader.uint64(); count > 0n; --count) {
    const name = bytesToText(reader.sized()), [code, bits] = reader.take(2), shape = [];
    let rank = reader.uint64();
    check(rank <= kMaxRank, () => `weight ${name} has rank ${rank}`);
    for (; rank > 0n; --rank) shape.push(Number(BigInt.asIntN(64, reader.uint64())));
    const offset = Number(reader.uint64()), size = shape.reduce((a, b) => a * b, bits / 8);
    check(offset % kAlignment === 0 && size >= 0 && offset + size <= dataBytes,
          () => `weight ${name} is out of place: ${size} bytes at ${offset} of ${dataBytes}`);
    entries.push({ name, dtype: typeName(code, bits), shape, offset, size });
  }
  for (let piece = Math.ceil(dataBytes / kPiece); piece > 0; --piece) hashes.push(reader.take(kHashSize));
  reader.expectEnd();
  return { dataBytes, entries, hashes };
}

/** Throws where the bytes are not those of the table. */
export async function checkData(data, hashes) {
  await Promise.all(hashes.map(async (hash, i) => {
    const piece = data.subarray(i * kPiece, (i + 1) * kPiece);
    const found = new Uint8Array(await crypto.subtle.digest("SHA-256", piece));
    if (!found.every((byte, k) => byte === hash[k])) throw runtimeError(`weights were altered: the hash of piece ${i} is wrong`);
  }));
}
