// SPDX-License-Identifier: Apache-2.0
//
// node model_test.mjs TERN: models that were compiled ahead of time, as WebAssembly, without a browser.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { webcrypto } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { differenceOf, readNpy } from "./npy.mjs";

globalThis.crypto ??= webcrypto;
const tern = await import("../tern.js");
const web = path.dirname(path.dirname(fileURLToPath(import.meta.url))), models = path.join(web, "..", "test", "models"), compiler = process.argv[2];
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tern-web-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true }));

const kTarget = "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128";
const npy = (name) => readNpy(fs.readFileSync(path.join(models, `${name}.npy`)));
const known = new Map();
function compile(model, ...options) {
  const key = [model, ...options].join(), file = path.join(folder, `${model}.tern`);
  if (known.has(key)) return Uint8Array.from(known.get(key));
  execFileSync(compiler, ["compile", path.join(models, `${model}.onnx`), "-t", kTarget, ...options, "-o", file]);
  known.set(key, fs.readFileSync(file));
  return Uint8Array.from(known.get(key));
}

for (const [model, input, output, ...options] of [
  ["mnist", "image", "scores"], ["squeezenet", "data", "probabilities"], ["mobilenet", "data", "logits"],
  ["resnet", "data", "logits", "--dim", "batch=2"]])
  test(`${model} computes`, async () => {
    const loaded = await tern.loadModel(compile(model, "--executor=aot", ...options), null, { name: `${model}.tern` });
    assert.deepEqual([loaded.inputs.map(({ name }) => name), loaded.outputs.map(({ name }) => name)], [[input], [output]]);
    for (let i = 0; i < 3; ++i) {
      const values = await loaded.run({ [input]: npy(`${model}.${input}`) })[output].data();
      assert.ok(differenceOf(values, npy(`${model}.${output}`)) < 1e-4);
    }
  });

test("a transformer takes two inputs", async () => {
  const loaded = await tern.loadModel(compile("transformer", "--executor=aot", "--input-shape", "input_ids=2,7", "--input-shape", "attention_mask=2,7"));
  const { hidden, pooled } = loaded.run({ input_ids: npy("transformer.input_ids"), attention_mask: npy("transformer.attention_mask") });
  assert.ok(differenceOf(await hidden.data(), npy("transformer.hidden")) < 1e-4);
  assert.ok(differenceOf(await pooled.data(), npy("transformer.pooled")) < 1e-4);
});

test("what is wrong is said", async () => {
  const loaded = await tern.loadModel(compile("mnist", "--executor=aot"));
  assert.throws(() => loaded.run({}), /^TernError: input image is missing; the inputs are image$/);
  assert.throws(() => loaded.run([1, 2]), /expected 784 elements for shape \(1, 1, 28, 28\), got 2/);
  await assert.rejects(tern.loadModel(compile("mnist"), null, { name: "x.tern" }), /x\.tern has no function main of a model; compile it with --executor=aot/);
  const bytes = compile("mnist", "--executor=aot");
  bytes[bytes.length - 1] ^= 1;
  await assert.rejects(tern.loadModel(bytes), /weights were altered: the hash of piece 0 is wrong/);
  await assert.rejects(tern.loadModel(bytes.subarray(0, bytes.length - 1)), /the file is truncated/);
  const { status, stderr } = spawnSync(compiler, ["compile", path.join(models, "resnet.onnx"), "--executor=aot", "-o", path.join(folder, "x.so")]);
  assert.equal(status, 2);
  assert.match(String(stderr), /input data: dimension 0 is batch; .*--dim batch=N/);
});
