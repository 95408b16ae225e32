// SPDX-License-Identifier: Apache-2.0
//
// node reader_test.mjs VERDICTS FILE...: the JavaScript reader says of good, damaged and forged files what the C++ reader says
// (VERDICTS prints both; reader_verdicts.cc).
import { execFileSync } from "node:child_process";
import { webcrypto } from "node:crypto";
import { Artifact } from "../src/artifact.js";
import { Container } from "../src/container.js";
import { TernError } from "../src/error.js";

globalThis.crypto ??= webcrypto;
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (digits) => parseInt(digits, 16));

async function verdictOf(what, bytes) {
  try {
    if (what === "artifact") return await (await Artifact.open(bytes, "m")).readImports(), "";
    const container = await Container.open(bytes);
    for (const name of container.names) await container.get(name);
    return "";
  } catch (error) {
    if (!(error instanceof TernError)) throw error;
    return `${error.kind}: ${error.message}`;
  }
}

const lines = execFileSync(process.argv[2], process.argv.slice(3), { maxBuffer: 1 << 28 }).toString().trimEnd().split("\n");
let good = 0, wrong = 0;
for (const line of lines) {
  const [what, hex, verdict = ""] = line.split(" ");
  const expected = new TextDecoder().decode(bytesOf(verdict)), actual = await verdictOf(what, bytesOf(hex));
  if (expected === "") ++good;
  if (actual === expected) continue;
  if (++wrong <= 10) console.log(`${what}\n  C++: ${expected || "good"}\n  JavaScript: ${actual || "good"}\n  ${hex}`);
}
console.log(`${lines.length} files, ${good} of them good, ${wrong} verdicts differ`);
process.exit(wrong ? 1 : 0);
