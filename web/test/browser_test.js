// SPDX-License-Identifier: Apache-2.0

// Tests of the runtime for browsers, each an exported function; browser_test.py compiles what they load.
import { Kernel } from "../src/kernel.js";
import * as tern from "../tern.js";

let shared = null;
const deviceOf = async () => shared ??= await tern.init();
const load = async (name, device) => tern.load(`/files/${name}.tern`, device ?? await deviceOf());

function equal(actual, expected, what = "") {
  const [a, b] = [actual, expected].map((value) => typeof value === "object" ? [...value].join() : value);
  if (a !== b) throw new Error(`${what}: expected ${String(b).slice(0, 300)}, got ${String(a).slice(0, 300)}`);
}

async function refused(body, message) {
  const error = await (async () => body())().then(() => null, (caught) => caught);
  if (!(error instanceof tern.TernError)) throw new Error(`expected "${message}", got ${error?.stack ?? "no error"}`);
  if (!error.message.includes(message)) throw new Error(`expected "${message}", got "${error.message}"`);
}

// How often a method was called while the body ran.
async function calls(object, method, body) {
  const original = object[method];
  let count = 0;
  object[method] = function (...args) {
    ++count;
    return original.apply(this, args);
  };
  await body();
  delete object[method];
  return count;
}

const numbers = (n, f = (i) => (i * 37) % 101 - 50) => Float32Array.from({ length: n }, (_, i) => f(i));

export async function adds() {
  const device = await deviceOf(), { functions } = await load("add");
  for (const n of [0, 1, 67, 1000]) {
    const a = numbers(n), b = numbers(n, (i) => i / 4), c = device.zeros([n]);
    functions.add(device.tensor(a), device.tensor(b), c);
    equal(await c.data(), a.map((value, i) => value + b[i]), `n = ${n}`);
  }
}

export async function saysWhatIsWrong() {
  const device = await deviceOf(), module = await load("add"), { add } = module.functions;
  const [a, b] = [device.tensor(numbers(4)), device.tensor(numbers(4))];
  await refused(() => add(a, b), "add: expected 3 arguments, got 2");
  await refused(() => add(a, b, device.zeros([5])), "add: argument 2 (C): expected extent 0 to be n = 4, got float32 tensor of shape (5,) on webgpu:0");
  await refused(() => add(a, b, device.zeros([4], "int32")), "expected float32 tensor of rank 1, got int32 tensor of shape (4,) on webgpu:0");
  await refused(() => add(a, b, tern.host.zeros([4])), "add: argument 2 (C): expected a tensor on webgpu, got float32 tensor of shape (4,) on cpu:0");
  await refused(() => add(a, b, a), "add: argument 2 (C): expected memory apart from that of argument 0 (A)");
  await refused(() => add(a, b, new Float32Array(4)), "add: argument 2 (C): expected a tensor, as of device.tensor(), got Float32Array");
  await refused(() => module.get("sub"), "add.tern has no function sub; it has add");
  b.dispose();
  await refused(() => add(a, b, a), "add: argument 1 (B): the tensor was disposed of");
  await refused(() => b.data(), "the tensor was disposed of");
  await refused(() => device.zeros([2 ** 40]), "is larger than this device takes");
}

export async function refusesDamagedFiles() {
  const device = await deviceOf(), bytes = new Uint8Array(await (await fetch("/files/add.tern")).arrayBuffer());
  for (const [at, message] of [[0, "not a Tern artifact"], [8, "container version 0"], [100, "the container's table was altered"],
                               [bytes.length - 1, "section module.0 of the container was altered: its hash is wrong"]]) {
    const damaged = bytes.slice();
    damaged[at] ^= 1;
    await refused(() => tern.load(damaged, device, { name: "damaged" }), `damaged: ${message}`);
  }
  await refused(() => tern.load(bytes.slice(0, -1), device, { name: "cut" }), "cut: the container is truncated");
  await refused(() => load("native"), "native.tern has no host code for this machine, wasm32-unknown-unknown; it has ");
  await refused(() => tern.load(new Response(null, { status: 404 }), device, { name: "nosuch.tern" }), "nosuch.tern: cannot be opened: 404");
}

export async function usesWorkspaces() {
  const device = await deviceOf(), { functions } = await load("softmax"), n = 5, m = 19;
  const x = numbers(n * m, (i) => Math.sin(i)), y = device.zeros([n, m]);
  const buffers = await calls(device.gpu, "createBuffer", async () => {
    for (let i = 0; i < 3; ++i) functions.softmax(device.tensor(x, [n, m]), y);
  });
  const result = await y.data();
  for (let i = 0; i < n; ++i) {
    const row = [...x.subarray(i * m, (i + 1) * m)].map(Math.exp), total = row.reduce((a, b) => a + b);
    row.forEach((value, j) => {
      if (Math.abs(result[i * m + j] - value / total) > 1e-6) throw new Error(`row ${i}: ${result[i * m + j]} for ${value / total}`);
    });
  }
  // Three inputs, and the temporary memory of the first call, which serves the others.
  if (buffers > 5) throw new Error(`${buffers} buffers`);
}

export async function submitsOncePerCall() {
  const device = await deviceOf(), { functions } = await load("softmax"), x = device.zeros([4, 4]), y = device.zeros([4, 4]);
  const { queue } = device.gpu, once = () => functions.softmax(x, y);
  equal(await calls(queue, "submit", once), 1, "a call of several kernels");
  equal(await calls(queue, "submit", () => device.batch(() => { once(); once(); once(); })), 1, "a batch");
  equal(await calls(queue, "submit", () => device.batch(() => { for (let i = 0; i < 100; ++i) once(); })) < 10, true, "a large batch");
}

export async function compilesOnce() {
  const device = await tern.init(), count = (body) => calls(device.gpu, "createComputePipelineAsync", body);
  const first = await count(() => load("softmax", device)), second = await count(() => load("softmax", device));
  equal(first > 0, true, "pipelines");
  equal(second, 0, "pipelines of a file that was loaded before");
  device.destroy();
}

export async function seesViews() {
  const device = await deviceOf(), { functions } = await load("shift");
  // One buffer is read and written: what is read is copied.
  const all = device.tensor(numbers(12, (i) => i)), part = (at, n) => all.view({ shape: [n], byteOffset: 4 * at });
  functions.shift(part(1, 3), part(7, 3), 100);
  equal(await all.data(), [0, 1, 2, 3, 4, 5, 6, 101, 102, 103, 10, 11]);
  equal(await part(7, 3).data(), [101, 102, 103]);
  equal(await all.view({ shape: [4, 3], strides: [1, 4] }).data(), [0, 4, 102, 1, 5, 103, 2, 6, 10, 3, 101, 11]);
  await refused(() => functions.shift(part(1, 3), part(3, 3), 1), "expected memory apart from");
  await refused(() => functions.two(part(0, 3), part(4, 3)), "two tensors that are written lie in one buffer, which WebGPU refuses");
  await refused(() => all.view({ shape: [4], byteOffset: 40 }), "takes bytes 40 to 56 of 48");
  all.view({ shape: [2], byteOffset: 8 }).write([-1, -2]);
  equal((await all.data()).slice(0, 5), [0, 1, -1, -2, 4]);
  await refused(() => all.write([1]), "expected 12 elements for shape (12,), got 1");
}

export async function passesScalars() {
  const device = await deviceOf(), { functions } = await load("shift"), y = device.zeros([6], "int64");
  functions.scalars(true, -100, 60000, -70000, 2n ** 40n + 3n, 1.5, y);
  equal(await y.data(), [1n, -100n, 60000n, -70000n, 2n ** 40n + 3n, 3n]);
  await refused(() => functions.scalars(true, 128, 0, 0, 0, 0, y), "scalars: argument 1 (b): expected int8, which the value fits in, got int 128");
  await refused(() => functions.scalars(true, 1, 0, 1.5, 0, 0, y), "scalars: argument 3 (d): expected int32, got float 1.5");
  await refused(() => functions.scalars(true, 1, 0, 1, 2n ** 64n, 0, y), "argument 4 (e): expected an integer of 64 bits");
}

export async function countsInInt64() {
  const device = await deviceOf(), { functions } = await load("argmax"), index = device.zeros([2], "int64");
  functions.argmax(device.tensor([1, 5, 2, 9, 0, 9], [2, 3]), index);
  equal(await index.data(), [1n, 0n]);
}

export async function takesFloat16() {
  const device = await deviceOf(), { functions } = await load("batched_matmul");
  const a = device.tensor(numbers(32 * 16, (i) => i % 7), [1, 32, 16], "float16"), b = device.tensor(numbers(16 * 24, (i) => i % 5), [1, 16, 24], "float16");
  const c = device.zeros([1, 32, 24]);
  functions.batched_matmul(a, b, c);
  const [av, bv, cv] = [await a.values(), await b.values(), await c.data()];
  equal(av.slice(0, 8), [0, 1, 2, 3, 4, 5, 6, 0]);
  const expected = cv.map((_, at) => {
    let sum = 0;
    for (let l = 0; l < 16; ++l) sum += av[Math.floor(at / 24) * 16 + l] * bv[l * 24 + (at % 24)];
    return sum;
  });
  equal(cv, expected);
}

// A grid has at most 65535 blocks on an axis; what is beyond goes to further rows.
export async function foldsLargeGrids() {
  const device = await deviceOf(), { functions } = await load("shift"), n = 256 * 65535 + 300;
  const x = device.zeros([n]), y = device.zeros([n]);
  functions.shift(x, y, 3);
  for (const at of [0, 65535, n - 8]) equal(await y.view({ shape: [8], byteOffset: 4 * at }).data(), Array(8).fill(3), `at ${at}`);
  x.dispose();
  y.dispose();
}

export async function multipliesLargeMatrices() {
  const device = await deviceOf(), module = await load("matmul_1024"), n = 1024;
  const a = numbers(n * n, (i) => (i * 7919) % 13 - 6), b = numbers(n * n, (i) => (i * 104729) % 11 - 5), c = device.zeros([n, n]);
  const [x, y] = [device.tensor(a, [n, n]), device.tensor(b, [n, n])];
  const start = performance.now();
  module.functions.matmul(x, y, c);
  await device.sync();
  const time = performance.now() - start, result = await c.data();
  // All numbers are integers below 2^24, so every sum is exact. The product with a vector is the same on both ways.
  const times = (matrix, vector) => Float64Array.from({ length: n }, (_, i) => {
    let sum = 0;
    for (let j = 0; j < n; ++j) sum += matrix[i * n + j] * vector[j];
    return sum;
  });
  for (const seed of [1, 2]) {
    const vector = Float64Array.from({ length: n }, (_, i) => ((i + 1) * 7331 * seed) % 1009);
    equal(times(result, vector), times(a, times(b, vector)), "C v = A (B v)");
  }
  return `ok, ${Math.round(time)} ms, ${(2 * n ** 3 / time / 1e6).toFixed(2)} GFLOP/s`;
}

export async function reportsErrorsOfTheDevice() {
  const device = await tern.init();
  device.gpu.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.STORAGE });
  await refused(() => device.sync(), "WebGPU: ");
  await device.sync();
  const info = { args: [], launch_tags: [], bindings: { block: [1, 1, 1], features: [], rows: false, tensors: [] } };
  await refused(() => new Kernel(device, "broken", info, "fn main() { nonsense }").prepare(), "kernel broken cannot be compiled: ");
  await refused(() => new Kernel(device, "broken", { ...info, bindings: undefined }, "x"), "kernel broken has no bindings");
  device.destroy();
}

export async function noticesALostDevice() {
  const device = await tern.init(), { functions } = await load("add", device), a = device.tensor(numbers(8)), c = device.zeros([8]);
  const other = await deviceOf();
  await refused(() => functions.add(other.tensor(numbers(8)), a, c), "add: argument 0 (A): the tensor is on another device");
  device.gpu.destroy();
  await device.lost;
  const message = "the WebGPU device was lost: ";
  await refused(() => functions.add(a, a, c), message);
  await refused(() => c.data(), message);
  await refused(() => c.write(numbers(8)), message);
  await refused(() => device.tensor([1]), message);
  await refused(() => device.sync(), message);
  await refused(() => load("add", device), message);
  // Another one works.
  const next = await tern.init(), { functions: again } = await load("add", next), sum = next.zeros([8]);
  again.add(next.tensor(numbers(8)), next.tensor(numbers(8)), sum);
  equal(await sum.data(), numbers(8).map((value) => 2 * value));
  next.destroy();
  await refused(() => sum.data(), "it was destroyed");
}

export async function saysWhichAssertFailed() {
  const device = await deviceOf(), { checked } = (await load("checked")).functions, s = device.tensor(numbers(1, () => 0.75));
  const run = (values) => {
    const a = device.tensor(Int32Array.from(values)), b = device.zeros([values.length], "int32");
    checked(a, s, b);
    return b;
  };
  equal(await run([1, 2, 7]).data(), [2, 3, 8]);
  await refused(() => run([1, 2, -3, 9, 5]).data(), "element 3 is 9, not below 8 (0.75)");
  run([8]);
  await refused(() => device.sync(), "element 0 is 8, not below 8");
  // What failed was said, and is over.
  await device.sync();
  equal(await run([0]).data(), [1]);
}

export async function needsADeviceForKernels() {
  const { functions } = await tern.load("/files/matmul_1024.tern"), x = tern.host.zeros([1024, 1024]);
  await refused(() => functions.matmul(x, x, x), "expected a tensor on webgpu, got float32 tensor of shape (1024, 1024) on cpu:0");
}

export async function worksWithoutModules() {
  await new Promise((done) => {
    const script = Object.assign(document.createElement("script"), { src: "/web/global.js", onload: done });
    document.head.append(script);
  });
  equal((await globalThis.tern).TernError, tern.TernError, "tern of global.js");
}
