// SPDX-License-Identifier: Apache-2.0

// SHA-256 (FIPS 180-4). Not the browser's: that one answers later, and only in secure contexts.
const kRounds = new Int32Array(64), kStart = new Uint32Array(8);

// The first 32 bits of the fractional parts of the square and cube roots of primes.
(() => {
  const fraction = (x) => (x - Math.floor(x)) * 2 ** 32;
  for (let n = 2, found = 0; found < 64; ++n) {
    let prime = true;
    for (let d = 2; d * d <= n && prime; ++d) prime = n % d !== 0;
    if (!prime) continue;
    if (found < 8) kStart[found] = fraction(Math.sqrt(n));
    kRounds[found++] = fraction(Math.cbrt(n)) | 0;
  }
})();

const rotate = (x, n) => (x >>> n) | (x << (32 - n));

function compress(state, words, bytes, at) {
  for (let i = 0; i < 16; ++i, at += 4)
    words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  for (let i = 16; i < 64; ++i) {
    const a = words[i - 15], b = words[i - 2];
    words[i] = (words[i - 16] + words[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)) +
                (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10))) | 0;
  }
  let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
  for (let i = 0; i < 64; ++i) {
    const t = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kRounds[i] + words[i]) | 0;
    const u = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g, g = f, f = e, e = (d + t) | 0, d = c, c = b, b = a, a = (t + u) | 0;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/** Of the parts, one behind the other; 32 bytes. */
export function sha256(...parts) {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const state = Int32Array.from(kStart), words = new Int32Array(64), block = new Uint8Array(64);
  let filled = 0;
  for (const part of parts) {
    let at = 0;
    while (at < part.length) {
      if (filled === 0 && part.length - at >= 64) {
        compress(state, words, part, at);
        at += 64;
        continue;
      }
      const taken = Math.min(64 - filled, part.length - at);
      block.set(part.subarray(at, at + taken), filled);
      filled += taken, at += taken;
      if (filled === 64) compress(state, words, block, filled = 0);
    }
  }
  block.fill(0, filled);
  block[filled] = 0x80;
  if (filled >= 56) compress(state, words, block, 0), block.fill(0);
  const view = new DataView(block.buffer);
  view.setBigUint64(56, BigInt(size) * 8n);
  compress(state, words, block, 0);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((value, i) => digest.setUint32(4 * i, value));
  return new Uint8Array(digest.buffer);
}

export const sameBytes = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
