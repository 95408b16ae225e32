// SPDX-License-Identifier: Apache-2.0

// .tern files (docs/artifact_format.md), read and checked as tern/runtime does.
import { ByteReader, Container, isContainer } from "./container.js";
import { isHandle } from "./dtype.js";
import { check, runtimeError, TernError } from "./error.js";
import { bytesToChars, bytesToText, escaped, readJson, writeJson } from "./json.js";
import { describeValue, ValueReader } from "./value_reader.js";
import { checkData, readTable, weightsStart } from "./weights.js";

const kHost = "wasm32-unknown-unknown", kHostPrefix = "host.", kWeights = "weights", kEnvVersion = 1, kMaxInt = 2n ** 31n - 1n, kMaxUint32 = 2n ** 32n - 1n, kMaxInt64 = 2n ** 63n - 1n;
const kLaunchTag = /^((block|thread|cluster)Idx\.[xyz]|shared\.dynamic)$/;

const nonEmpty = (value, what) => (item) => item.text() || value.fail(`the ${what} is empty`);

function readParam(value) {
  const param = value.record({ name: nonEmpty(value, "name"), dtype: "type", is_tensor: "flag", shape: "texts", strides: "texts", is_output: "flag" });
  const { shape, strides } = param;
  if (!param.is_tensor && (shape.length || param.is_output)) value.fail("a scalar has no shape and is no output");
  if (strides.length && strides.length !== shape.length) value.fail(`there are ${strides.length} strides for ${shape.length} axes`);
  return param;
}

const readNamed = (what, read) => (list) => {
  const names = new Set();
  return list.items((item) => {
    const result = read(item);
    if (names.has(result.name)) item.fail(`a second ${what} named ${result.name}`);
    names.add(result.name);
    return result;
  });
};

const readFunction = (value) => value.record({
  name: nonEmpty(value, "name"), params: readNamed("parameter", readParam), "device?": nonEmpty(value, "device"),
  ...(value.has("prepare") || value.has("prepared")) && { prepare: "text", prepared: "text" } });

// Parts of a function are functions without parts.
function checkParts(all) {
  const simple = new Set(all.filter((one) => !one.prepare).map((one) => one.name));
  for (const { name, prepare: a, prepared: b } of all)
    for (const part of a || b ? [a, b] : [])
      check(simple.has(part), () => `meta.functions: ${name} is prepared by '${part}', which is no function`);
  return all;
}

const readIndices = (count) => (list) => list.items((item) => {
  const index = item.int(0n, kMaxInt);
  return index < count ? index : item.fail(`import ${index} of ${count}`);
});

// From the root every import is reached once: no cycle, nothing shared or lost.
function checkTree({ imports, root_imports: level }) {
  const reached = new Set();
  for (let depth = 0; level.length; level = level.flatMap((index) => imports[index].imports)) {
    check(depth++ < 100, () => "meta.imports: nested deeper than 100");
    for (const index of level) {
      check(!reached.has(index), () => `meta.imports: import ${index} is imported twice or imports itself`);
      reached.add(index);
    }
  }
  imports.forEach((_, i) => check(reached.has(i), () => `meta.imports: import ${i} is not reached from the root`));
}

function readMeta(bytes) {
  const value = new ValueReader("meta", readJson(bytes));
  let count = 0;
  const readImport = (item) => item.record({ kind: nonEmpty(item, "kind"), imports: readIndices(count) });
  const meta = value.record({
    tern_version: "text", abi_version: (version) => version.int(1n, kMaxInt64), target: "text", hosts: "texts", device: "text",
    functions: (list) => checkParts(readNamed("function", readFunction)(list)),
    imports: (list) => (count = list.value.length, list.items(readImport)),
    root_imports: (list) => readIndices(count)(list),
  });
  checkTree(meta);
  return meta;
}

const number = (item) => item.int(0n, kMaxUint32);
const oneEach = (list, expected, read) => {
  const items = list.items(read);
  return items.length === expected ? items : list.fail(`expected one for each of ${expected} arguments, got ${items.length}`);
};

// How the arguments of a WebGPU kernel are bound (docs/webgpu.md).
function readBindings(value, numTensors, numScalars) {
  const access = (item) => /^read(_write)?$/.test(item.text()) ? item.value : item.fail(`expected read or read_write, got ${item.value}`);
  const scalars = (item) => {
    let most = 0n;
    return item.record({ binding: number, bytes: (bytes) => Number(most = BigInt(bytes.int(4n, kMaxUint32))),
                         offsets: (list) => oneEach(list, numScalars, (offset) => offset.int(0n, most - 4n)) });
  };
  return value.record({
    block: (list) => list.items((item) => item).length === 3 ? list.items(number) : list.fail("expected three extents"),
    features: "texts", rows: "flag",
    tensors: (list) => oneEach(list, numTensors, (item) => item.record({ access, binding: number, type: "text" })),
    [numScalars ? "scalars" : "scalars?"]: scalars,
  });
}

function readKernel(value) {
  const tags = new Set(), tag = (item) => {
    if (!kLaunchTag.test(item.text()))
      item.fail(`expected one of blockIdx.x to blockIdx.z, threadIdx.x to threadIdx.z, clusterIdx.x to clusterIdx.z and shared.dynamic, got ${item.value}`);
    if (tags.has(item.value)) item.fail(`${item.value} stands twice`);
    tags.add(item.value);
    return item.value;
  };
  const args = value.field("args").items((item) => item.type()), numTensors = args.filter(isHandle).length;
  return value.record({
    args: () => args, launch_tags: (list) => list.items(tag),
    static_shared_bytes: (item) => item.int(0n, kMaxInt64), "dynamic_shared_bytes?": (item) => item.int(1n, kMaxInt64),
    "bindings?": (item) => readBindings(item, numTensors, args.length - numTensors),
  });
}

// A flag that was taken for a number is written as one.
const asWritten = (value, key) => (Array.isArray(value) ? value.map((item) => asWritten(item))
  : value instanceof Map ? new Map([...value].map(([name, item]) => [name, asWritten(item, name)]))
    : value === !!value && key !== "rows" ? BigInt(value) : value);

function readDeviceModule(kind, bytes) {
  const what = `the saved ${kind} module`, reader = new ByteReader(bytes, what), first = reader.sized();
  // The format of the code comes first, where its kind has several.
  const fmap = bytesToChars(first.subarray(0, 1)) === "{" ? first : reader.sized();
  const blobs = new ByteReader(reader.sized(), `${what}'s payload`);
  reader.expectEnd();
  const value = readJson(fmap), map = new ValueReader("fmap", value);
  check(value instanceof Map, () => `${what}: fmap: expected Map, got ${describeValue(value)}`);
  const kernels = new Map([...value.keys()].map((name) => [name, readKernel(map.field(name))]));
  // One module, one sequence of bytes.
  check(writeJson(asWritten(value)) === bytesToText(fmap), () => `${what}: fmap is not written as Tern writes it`);
  const payload = new Map();
  for (let left = blobs.uint64(), last = null; left > 0n; --left) {
    const name = blobs.sized(), chars = bytesToChars(name);
    check(last === null || last < chars, () => `${what}: the payloads are out of order at ${bytesToText(name)}`);
    last = chars;
    payload.set(bytesToText(name), blobs.sized());
  }
  blobs.expectEnd();
  return { kind, kernels, payload };
}

export class Artifact {
  #container;
  #weights = null;

  static async open(bytes, name) {
    const artifact = new Artifact();
    artifact.name = name;
    await artifact.#naming(async () => {
      check(isContainer(bytes), () => "not a Tern artifact: neither a container (.tern) nor a shared object (.so)");
      const { size } = Container.headerOf(bytes), base = size < bytes.length ? bytes.subarray(0, size) : bytes;
      artifact.#container = await Container.open(base);
      artifact.meta = readMeta(await artifact.#container.get("meta"));
      if (artifact.#container.names.includes(kWeights)) {
        const table = readTable(await artifact.#container.get(kWeights)), start = weightsStart(size), expected = start + table.dataBytes;
        check(bytes.length === expected, () => `the file is ${bytes.length < expected ? "truncated" : "followed by other bytes"}: ${
          expected} bytes expected, ${bytes.length} found`);
        check(bytes.subarray(size, start).every((byte) => byte === 0), () => "the bytes before the weights are not zero");
        artifact.#weights = { table, data: bytes.subarray(start) };
      } else if (base !== bytes) {
        await Container.open(bytes); // which says that other bytes follow
      }
    });
    return artifact;
  }

  async #naming(body) {
    try {
      return await body();
    } catch (error) {
      throw error instanceof TernError ? new TernError(error.kind, `${this.name}: ${escaped(error.message)}`) : error;
    }
  }

  get hosts() {
    return this.#container.names.filter((name) => name.startsWith(kHostPrefix)).map((name) => name.slice(kHostPrefix.length));
  }

  /** Whether it is a model, with a program and weights. */
  get isModel() {
    return this.#weights !== null;
  }
  /** The bytes of a weight, verified; null where there is none of that name. */
  weight(name) {
    return this.#naming(async () => {
      const { table, data } = this.#weights, entry = table.entries.find((one) => one.name === name);
      if (!entry) return null;
      await checkData(data, table.hashes);
      return data.subarray(entry.offset, entry.offset + entry.size);
    });
  }

  readImports() {
    return this.#naming(async () => {
      const modules = [];
      for (const { kind } of this.meta.imports)
        modules.push(readDeviceModule(kind, await this.#container.get(`module.${modules.length}`)));
      return modules;
    });
  }

  async hostCode() {
    const { name, hosts, meta: { abi_version: version } } = this;
    if (version > kEnvVersion)
      throw runtimeError(`${name} needs version ${version} of the ABI; this runtime has version ${kEnvVersion}`);
    if (!hosts.includes(kHost))
      throw runtimeError(`${name} has no host code for this machine, ${kHost}; it has ${hosts.join(", ") || "none"}`);
    return this.#naming(() => this.#container.get(kHostPrefix + kHost));
  }
}
