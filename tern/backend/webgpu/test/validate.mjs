// SPDX-License-Identifier: Apache-2.0
//
// node validate.mjs WEBGPU FILE...: compiles every shader of .tern files by Dawn, which runs nothing (its null backend). WEBGPU is the
// folder of the npm package `webgpu`. Prints what is wrong; the last line counts.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { Artifact } from "../../../../web/src/artifact.js";

const [folder, ...files] = process.argv.slice(2);
const { create, globals } = await import(pathToFileURL(path.resolve(folder, "index.js")));
Object.assign(globalThis, globals);
const gpu = create(["backend=null"]), adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: ["shader-f16"].filter((name) => adapter.features.has(name)) });
const decoder = new TextDecoder();

async function errorsOf(code, constants) {
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code });
  device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main", constants } });
  const { messages } = await module.getCompilationInfo(), error = await device.popErrorScope();
  const lines = messages.filter(({ type }) => type === "error").map((m) => `line ${m.lineNum}:${m.linePos}: ${m.message}`);
  return lines.length || !error ? lines : [error.message];
}

let shaders = 0, withF16 = 0, wrong = 0;
for (const file of files) {
  const artifact = await Artifact.open(new Uint8Array(fs.readFileSync(file)), file);
  for (const { kind, payload } of await artifact.readImports()) {
    if (kind !== "webgpu") continue;
    for (const [name, wgsl] of payload) {
      const code = decoder.decode(wgsl), errors = await errorsOf(code, {});
      shaders += 1;
      withF16 += code.includes("enable f16;");
      wrong += errors.length > 0;
      for (const error of errors) console.log(`${file}: ${name}: ${error}`);
    }
  }
}
console.log(`${shaders} shaders, ${withF16} with f16, ${wrong} wrong`);
process.exit(wrong || !shaders ? 1 : 0);
