// SPDX-License-Identifier: Apache-2.0

// .tern files (docs/artifact_format.md): what stands in them, read and checked as tern/runtime does.
import { ByteReader, Container, isContainer } from "./container.js";
import { check, naming, TernError } from "./error.js";
import { bytesToChars, compareText, readJson, writeJson } from "./json.js";
import { describeValue, ValueReader } from "./value_reader.js";

const kHostPrefix = "host.", kEnvVersion = 1, kMaxInt = 2n ** 31n - 1n, kMaxInt64 = 2n ** 63n - 1n;
const kLaunchTags = ["blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "shared.dynamic"];
const kText = new TextDecoder();

/** The triple of the host code that a browser runs. */
export const kHost = "wasm32-unknown-unknown";

// ---- meta

function readParam(value) {
  const param = {
    name: value.field("name").text(),
    dtype: value.field("dtype").type().name,
    isTensor: value.field("is_tensor").flag(),
    shape: value.field("shape").items().map((extent) => extent.text()),
    strides: value.field("strides").items().map((stride) => stride.text()),
    isOutput: value.field("is_output").flag(),
  };
  value.expectOnly("name", "dtype", "is_tensor", "shape", "strides", "is_output");
  if (!param.name) value.fail("the name is empty");
  if (!param.isTensor && (param.shape.length || param.isOutput)) value.fail("a scalar has no shape and is no output");
  if (param.strides.length && param.strides.length !== param.shape.length)
    value.fail(`there are ${param.strides.length} strides for ${param.shape.length} axes`);
  return param;
}

function readFunction(value) {
  const result = { name: value.field("name").text(), params: [] };
  if (!result.name) value.fail("the name is empty");
  for (const item of value.field("params").items()) {
    const param = readParam(item);
    if (result.params.some((other) => other.name === param.name)) item.fail(`a second parameter named ${param.name}`);
    result.params.push(param);
  }
  if (value.has("device")) {
    result.device = value.field("device").text();
    if (!result.device) value.fail("the device is empty");
  }
  value.expectOnly("name", "params", "device");
  return result;
}

function readIndices(value, count) {
  return value.items().map((item) => {
    const index = item.int(0n, kMaxInt);
    if (index >= count) item.fail(`import ${index} of ${count}`);
    return index;
  });
}

// From the root every import is reached, and reached once: no cycle, nothing shared, nothing lost.
function checkTree(meta) {
  const reached = new Set(), pending = [...meta.rootImports];
  while (pending.length) {
    const index = pending.pop();
    check(!reached.has(index), () => `meta.imports: import ${index} is imported twice or imports itself`);
    reached.add(index);
    pending.push(...meta.imports[index].imports);
  }
  meta.imports.forEach((_, i) => check(reached.has(i), () => `meta.imports: import ${i} is not reached from the root`));
}

export function readMeta(bytes) {
  const value = new ValueReader("meta", readJson(bytes));
  const meta = {
    ternVersion: value.field("tern_version").text(),
    abiVersion: value.field("abi_version").int(1n, kMaxInt64),
    target: value.field("target").text(),
    hosts: value.field("hosts").items().map((item) => item.text()),
    device: value.field("device").text(),
    functions: [],
  };
  for (const item of value.field("functions").items()) {
    const read = readFunction(item);
    if (meta.functions.some((other) => other.name === read.name)) item.fail(`a second function named ${read.name}`);
    meta.functions.push(read);
  }
  const imports = value.field("imports").items();
  meta.imports = imports.map((item) => {
    const read = { kind: item.field("kind").text(), imports: readIndices(item.field("imports"), imports.length) };
    item.expectOnly("kind", "imports");
    if (!read.kind) item.fail("the kind is empty");
    return read;
  });
  meta.rootImports = readIndices(value.field("root_imports"), imports.length);
  value.expectOnly("tern_version", "abi_version", "target", "hosts", "device", "functions", "imports", "root_imports");
  checkTree(meta);
  return meta;
}

/** "add(A: float32[n], C: float32[n] (written))" */
export function signature({ name, params, device }) {
  const texts = params.map((param) => {
    const shape = param.isTensor ? `[${param.shape.join(", ")}]` : "";
    const strides = param.strides.length ? ` strides(${param.strides.join(", ")})` : "";
    return `${param.name}: ${param.dtype}${shape}${strides}${param.isOutput ? " (written)" : ""}`;
  });
  return `${name}(${texts.join(", ")})${device ? ` on ${device}` : ""}`;
}

// ---- device modules

// How the arguments of a WebGPU kernel are bound (docs/webgpu.md).
function readBindings(value) {
  const number = (item) => item.int(0n, kMaxInt);
  const bindings = {
    tensors: value.field("tensors").items().map((item) => {
      const access = item.field("access").text(), type = item.field("type").text();
      if (access !== "read" && access !== "read_write") item.fail(`expected read or read_write, got ${access}`);
      item.expectOnly("access", "binding", "type");
      return { binding: number(item.field("binding")), access, type };
    }),
    block: value.field("block").items().map(number),
    rows: value.field("rows").flag(),
    features: value.field("features").items().map((item) => item.text()),
  };
  if (bindings.block.length !== 3) value.field("block").fail(`expected three extents, got ${bindings.block.length}`);
  if (value.has("scalars")) {
    const scalars = value.field("scalars");
    bindings.scalars = {
      binding: number(scalars.field("binding")),
      bytes: number(scalars.field("bytes")),
      offsets: scalars.field("offsets").items().map(number),
    };
    scalars.expectOnly("binding", "bytes", "offsets");
  }
  value.expectOnly("block", "features", "rows", "scalars", "tensors");
  return bindings;
}

function readKernel(value, isWebGpu) {
  const info = { args: value.field("args").items().map((arg) => arg.type()), launchTags: [] };
  for (const tag of value.field("launch_tags").items()) {
    const text = tag.text();
    if (!kLaunchTags.includes(text))
      tag.fail(`expected one of blockIdx.x to blockIdx.z, threadIdx.x to threadIdx.z and shared.dynamic, got ${text}`);
    if (info.launchTags.includes(text)) tag.fail(`${text} stands twice`);
    info.launchTags.push(text);
  }
  info.staticSharedBytes = value.field("static_shared_bytes").int(0n, kMaxInt64);
  if (value.has("dynamic_shared_bytes")) info.dynamicSharedBytes = value.field("dynamic_shared_bytes").int(1n, kMaxInt64);
  if (isWebGpu) info.bindings = readBindings(value.field("bindings"));
  value.expectOnly("args", "launch_tags", "static_shared_bytes", "dynamic_shared_bytes", ...(isWebGpu ? ["bindings"] : []));
  return info;
}

/** {kind, fmt, kernels: Map of name to description, payload: Map of name to bytes}. */
export function readDeviceModule(kind, bytes) {
  const what = `the saved ${kind} module`, reader = new ByteReader(bytes, what), isWebGpu = kind === "webgpu";
  const fmt = isWebGpu ? "wgsl" : kText.decode(reader.sized());
  const fmap = reader.sized(), blobs = new ByteReader(reader.sized(), `${what}'s payload`);
  reader.expectEnd();
  const value = readJson(fmap), map = new ValueReader("fmap", value);
  check(value instanceof Map, () => `${what}: fmap: expected Map, got ${describeValue(value)}`);
  const kernels = new Map([...value.keys()].sort(compareText).map((name) => [name, readKernel(map.field(name), isWebGpu)]));
  // One module, one sequence of bytes.
  check(writeJson(value) === kText.decode(fmap), () => `${what}: fmap is not written as Tern writes it`);
  const payload = new Map();
  let last = null;
  for (let left = blobs.uint64(); left > 0n; --left) {
    const name = blobs.sized(), chars = bytesToChars(name);
    check(last === null || last < chars, () => `${what}: the payloads are out of order at ${kText.decode(name)}`);
    last = chars;
    payload.set(kText.decode(name), blobs.sized());
  }
  blobs.expectEnd();
  return { kind, fmt, kernels, payload };
}

// ---- the file

export class Artifact {
  #container;

  /** `name` stands in front of messages. */
  constructor(bytes, name) {
    this.name = name;
    naming(`${name}: `, () => {
      check(isContainer(bytes), () => "not a Tern artifact: neither a container (.tern) nor a shared object (.so)");
      this.#container = new Container(bytes);
      this.meta = readMeta(this.#container.get("meta"));
    });
  }

  get sections() {
    return this.#container.sections.map((section) => section.name);
  }
  get hosts() {
    return this.sections.filter((name) => name.startsWith(kHostPrefix)).map((name) => name.slice(kHostPrefix.length));
  }
  section(name) {
    return naming(`${this.name}: `, () => this.#container.get(name));
  }

  /** Its device modules, in the order of meta.imports. */
  readImports() {
    return naming(`${this.name}: `, () => this.meta.imports.map(
      ({ kind }, i) => readDeviceModule(kind, this.#container.get(`module.${i}`))));
  }

  /** The WebAssembly module. */
  hostCode() {
    const hosts = this.hosts, { abiVersion } = this.meta;
    if (abiVersion > kEnvVersion)
      throw new TernError("RuntimeError",
                          `${this.name} needs version ${abiVersion} of the ABI; this runtime has version ${kEnvVersion}`);
    if (!hosts.includes(kHost))
      throw new TernError("RuntimeError",
                          `${this.name} has no host code for this machine, ${kHost}; it has ${hosts.join(", ") || "none"}`);
    return this.section(kHostPrefix + kHost);
  }
}
