// SPDX-License-Identifier: Apache-2.0
//
// node module_test.mjs TERN: what of the runtime needs no browser: host code, tensors, data types; that it is a package, and small.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { webcrypto } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

globalThis.crypto ??= webcrypto;
const tern = await import("../tern.js");
const web = path.dirname(path.dirname(fileURLToPath(import.meta.url))), compiler = process.argv[2];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tern-web-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true }));

const example = (name) => path.join(web, "..", "examples", "kernels", `${name}.tir`);
async function compiled(source, target = "llvm -mtriple=wasm32-unknown-unknown", ...args) {
  const file = path.join(folder, "x.tern");
  execFileSync(compiler, ["compile", source, "-t", target, ...args, "-o", file]);
  return fs.readFileSync(file);
}
const load = async (source) => tern.load(await compiled(source), null, { name: "x.tern" });
const refuses = (body, kind, message) => assert.rejects(async () => body(), (error) => {
  assert.equal(`${error.kind}: ${error.message}`, `${kind}: ${message}`);
  return error instanceof tern.TernError;
});

test("host code computes", async () => {
  const { functions, meta } = await load(example("matmul")), { host } = tern;
  const a = host.tensor([0, 1, 2, 3, 4, 5], [2, 3]), b = host.tensor(Float32Array.from({ length: 12 }, (_, i) => i), [3, 4]), c = host.zeros([2, 4]);
  functions.matmul(a, b, c);
  assert.deepEqual([...await c.data()], [20, 23, 26, 29, 56, 68, 80, 92]);
  assert.equal(meta.device, "cpu");
  assert.deepEqual(functions.matmul.params.map(({ name, shape, is_output: out }) => [name, shape.join(), out]),
                   [["A", "n,k", false], ["B", "k,m", false], ["C", "n,m", true]]);
});

test("host code gets memory and runs loops", async () => {
  const { functions } = await load(example("softmax")), x = tern.host.tensor([1, 2, 3, 1, 1, 1], [2, 3]), y = tern.host.zeros([2, 3]);
  for (let i = 0; i < 3; ++i) functions.softmax(x, y);
  const e = [1, 2, 3].map(Math.exp), total = e[0] + e[1] + e[2];
  (await y.data()).forEach((value, i) => assert.ok(Math.abs(value - (i < 3 ? e[i] / total : 1 / 3)) < 1e-6));
});

test("host code sees shared memory as shared", async () => {
  const { functions } = await load(path.join(web, "test", "Inputs", "shift.tir"));
  const all = tern.host.tensor([1, 2, 3, 4, 5, 6]), part = (at) => all.view({ shape: [3], byteOffset: 4 * at });
  functions.shift(part(0), part(3), 10);
  assert.deepEqual([...await all.data()], [1, 2, 3, 11, 12, 13]);
  await refuses(() => functions.shift(part(0), part(2), 1), "ValueError",
                "shift: argument 1 (Y): expected memory apart from that of argument 0 (X); a function with the attribute may_alias takes tensors that overlap");
});

test("errors are Tern's", async () => {
  const { functions, get } = await load(example("matmul")), { host } = tern, [a, b] = [host.zeros([2, 3]), host.zeros([3, 4])];
  await refuses(() => functions.matmul(a, b), "TypeError", "matmul: expected 3 arguments, got 2");
  await refuses(() => functions.matmul(a, a, b), "ValueError",
                "matmul: argument 1 (B): expected extent 0 to be k = 3, got float32 tensor of shape (2, 3) on cpu:0");
  await refuses(() => functions.matmul(a, b, "C"), "TypeError", "matmul: argument 2 (C): expected a tensor, as of device.tensor(), got String");
  await refuses(() => functions.matmul(a, b, 2), "TypeError", "matmul: argument 2 (C): expected float32 tensor of rank 2, got int 2");
  await refuses(() => functions.matmul(a, b, null), "TypeError", "matmul: argument 2 (C): expected float32 tensor of rank 2, got none");
  assert.equal(typeof get, "function");
});

test("kernels of other devices stay where they are", async () => {
  const bytes = await compiled(example("add"), "opencl", "--host", "llvm -mtriple=wasm32-unknown-unknown");
  const { functions } = await tern.load(bytes), x = tern.host.zeros([3]);
  await refuses(() => functions.add(x, x, x), "ValueError", "add: argument 0 (A): expected a tensor on opencl, got float32 tensor of shape (3,) on cpu:0");
  assert.deepEqual((await tern.Artifact.open(bytes, "x")).hosts, ["wasm32-unknown-unknown"]);
});

test("tensors", async () => {
  const { host } = tern;
  assert.equal(host.tensor([1, 2]).dtype, "float32");
  assert.equal(host.tensor(new Uint8ClampedArray(2)).dtype, "uint8");
  assert.equal(host.tensor(new BigUint64Array(2)).dtype, "uint64");
  assert.deepEqual([...await host.tensor([1, -2], [2], "int64").data()], [1n, -2n]);
  assert.deepEqual([...await host.tensor([1, 2, 3, 4, 5, 6], [2, 3]).view({ shape: [3, 2], strides: [1, 3] }).data()], [1, 4, 2, 5, 3, 6]);
  assert.deepEqual([...await host.tensor([1, 2, 3]).view({ shape: [3], strides: [-1], byteOffset: 8 }).data()], [3, 2, 1]);
  assert.deepEqual([...await host.zeros([2, 0]).data()], []);
  await refuses(() => host.tensor([1, 2], [3]), "ValueError", "expected 3 elements for shape (3,), got 2");
  await refuses(() => host.zeros([2, -1]), "ValueError", "expected a list of extents, got [2,-1]");
  await refuses(() => host.tensor(new Int32Array(1), [1], "float32"), "TypeError", "expected Float32Array for float32, got Int32Array");
  await refuses(() => host.zeros([4]).view({ shape: [3, 2] }), "ValueError", "a float32 tensor of shape (3, 2) takes bytes 0 to 24 of 16");
  await refuses(() => host.zeros([4]).view({ shape: [1], byteOffset: 2 }), "ValueError", "expected a byte offset that is a multiple of 4, got 2");
  await refuses(() => host.zeros([4]).view({ strides: [1, 2] }), "ValueError", "there are 2 strides for 1 axes");
});

test("narrow floats", () => {
  const bits = (values, type) => [...tern.fromFloats(values, type)].map((value) => value.toString(16));
  assert.deepEqual(bits([1, -2, 1 / 3, 65519, 65520, 2 ** -24, 2 ** -25, 3 * 2 ** -25, -0, Infinity, NaN], "float16"),
                   ["3c00", "c000", "3555", "7bff", "7c00", "1", "0", "2", "8000", "7c00", "7e00"]);
  assert.deepEqual(bits([1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 3.4e38], "bfloat16"), ["3f80", "3f80", "3f82", "7f80"]);
  assert.deepEqual(bits([448, 464, 465, 2 ** -9, NaN], "float8_e4m3fn"), ["7e", "7e", "7f", "1", "7f"]);
  assert.deepEqual(bits([57344, 61439, 61440, -1], "float8_e5m2"), ["7b", "7b", "7c", "bc"]);
  for (const [type, count] of [["float16", 65536], ["bfloat16", 65536], ["float8_e4m3fn", 256], ["float8_e5m2", 256]]) {
    const all = Array.from({ length: count }, (_, i) => i), values = tern.toFloats(all, type), back = tern.fromFloats(values, type);
    all.forEach((value) => assert.ok(Number.isNaN(values[value]) || back[value] === value, `${type} ${value}`));
  }
});

test("it is a package", () => {
  fs.mkdirSync(path.join(folder, "node_modules"));
  fs.symlinkSync(web, path.join(folder, "node_modules", "tern-web"));
  fs.writeFileSync(path.join(folder, "x.mjs"), 'import { init } from "tern-web"; await init().catch((error) => console.log(error.message));');
  assert.match(spawnSync(process.execPath, [path.join(folder, "x.mjs")]).stdout.toString(), /this browser has no WebGPU/);
  const { files } = JSON.parse(fs.readFileSync(path.join(web, "package.json")));
  files.forEach((file) => assert.ok(fs.existsSync(path.join(web, file)), file));
});

test("it is under 72 KB", () => {
  const sources = fs.readdirSync(path.join(web, "src")).map((name) => path.join(web, "src", name));
  const bytes = [...sources, path.join(web, "tern.js")].reduce((sum, file) => sum + fs.statSync(file).size, 0);
  assert.ok(bytes < 72000, `${bytes} bytes`);
});

test("its types name what it exports", () => {
  const types = fs.readFileSync(path.join(web, "tern.d.ts"), "utf8");
  const named = [...types.matchAll(/^export (?:class|const|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(named.sort(), Object.keys(tern).sort());
});
