// SPDX-License-Identifier: Apache-2.0

// Models on pictures, on what a camera sees, and on text: what models.json lists, which build.sh writes.
import * as tern from "../tern.js";

const kEnough = 300, kTop = 5; // milliseconds to measure for; classes to show
const element = (id) => document.getElementById(id);
const show = (id, text) => { element(id).textContent = text; };
const milliseconds = (time) => `${time < 10 ? time.toFixed(2) : time < 100 ? time.toFixed(1) : Math.round(time)} ms`;
const duration = (time) => time < 1e4 ? milliseconds(time) : `${(time / 1e3).toFixed(1)} s`;
const megabytes = (bytes) => bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
const loaded = new Map();
let device = null, list = [], picture = null, camera = null, runs = 0, last = Promise.resolve();

function say(text, isBad = false) {
  show("status", text);
  element("status").classList.toggle("bad", isBad);
}

async function connect() {
  try {
    device = await tern.init();
    const { vendor, architecture, description } = device.gpu.adapterInfo ?? {};
    show("device", `WebGPU: ${description || [vendor, architecture].filter(Boolean).join(" ") || "a GPU"}`);
    element("device").className = "chip on";
    device.lost.then((reason) => {
      show("device", `lost: ${reason}`);
      element("device").className = "chip off";
      loaded.clear();
      device = null;
    });
  } catch (error) {
    show("device", "WebAssembly: this browser has no WebGPU");
    element("device").className = "chip";
  }
}

// ---- loading

async function download(file) {
  const response = await fetch(new URL(file, import.meta.url));
  if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}`);
  const size = Number(response.headers.get("content-length")) || 0, parts = [];
  let got = 0;
  for (const reader = response.body.getReader();;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    got += value.length;
    if (size) element("progress").value = got / size;
    say(`loading ${megabytes(got)}`);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function load(entry, place) {
  const key = `${entry.name} ${place}`;
  if (!loaded.has(key)) {
    const start = performance.now();
    element("progress").hidden = false;
    const bytes = await download(entry.files[place]);
    element("progress").removeAttribute("value");
    say("compiling");
    const model = await tern.loadModel(bytes, place === "webgpu" ? device : null, { name: entry.files[place] });
    loaded.set(key, { model, size: bytes.length, time: performance.now() - start });
  }
  element("progress").hidden = true;
  return loaded.get(key);
}

// ---- pictures

// Discs before bands of light.
function makePicture() {
  const canvas = new OffscreenCanvas(320, 320), context = canvas.getContext("2d"), sky = context.createLinearGradient(0, 0, 200, 320);
  [[0, "#274b8a"], [0.6, "#5fb0a5"], [1, "#f0d58c"]].forEach(([at, paint]) => sky.addColorStop(at, paint));
  context.fillStyle = sky;
  context.fillRect(0, 0, 320, 320);
  for (const [x, y, r, paint] of [[110, 150, 74, "#f2a833"], [228, 216, 64, "#29a39a"], [236, 80, 40, "#db4d5c"]]) {
    context.fillStyle = paint;
    context.beginPath();
    context.arc(x, y, r, 0, 7);
    context.fill();
  }
  return canvas;
}

/** The picture as the model takes it: planes of colours, around 0. */
function pixelsOf([, channels, height, width]) {
  const image = picture ?? makePicture(), canvas = element("input"), context = Object.assign(canvas, { width, height }).getContext("2d", { willReadFrequently: true });
  const scale = Math.max(width / image.width, height / image.height), w = image.width * scale, h = image.height * scale;
  context.imageSmoothingQuality = "high";
  context.drawImage(image, (width - w) / 2, (height - h) / 2, w, h);
  const { data } = context.getImageData(0, 0, width, height), plane = height * width;
  const grey = (i) => 0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2];
  show("input-name", `${width} × ${height}${channels === 1 ? ", grey" : ""}`);
  return Float32Array.from({ length: channels * plane }, (_, i) => {
    const at = 4 * (i % plane), value = channels === 1 ? grey(at) : data[at + Math.floor(i / plane)];
    return (value - 127.5) / 64;
  });
}

// ---- cameras

async function startCamera() {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 640 } } });
  camera = Object.assign(document.createElement("video"), { srcObject: stream, muted: true, playsInline: true });
  stream.getVideoTracks()[0].addEventListener("ended", stopCamera);
  await camera.play();
}

function stopCamera() {
  camera?.srcObject.getTracks().forEach((track) => track.stop());
  camera = null;
  element("camera").ariaPressed = "false";
}

/** Runs the model on one frame after another until the camera is stopped. */
async function watch() {
  if (camera) return stopCamera();
  element("camera").ariaPressed = "true";
  try {
    await startCamera();
    while (camera) {
      picture = await createImageBitmap(camera);
      await run();
      await new Promise(requestAnimationFrame);
    }
  } catch (error) {
    say(`the camera: ${error.message}`, true);
    stopCamera();
  }
}

// ---- text

const isText = ({ dtype, shape }) => dtype === "int64" && shape.length === 2;

/** [word, id] of the words and signs of a text: by the model's vocabulary, or, where the page has none, by a hash below its size. */
function tokensOf(text, { words, ids = 100 }) {
  const known = words && new Map(words.map((word, i) => [word, i])), unknown = Math.max(0, words?.indexOf("[UNK]") ?? 0);
  return (text.toLowerCase().match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? []).map((word) => {
    const hash = [...word].reduce((sum, letter) => (31 * sum + letter.codePointAt(0)) >>> 0, 7);
    return [word, known ? known.get(word) ?? unknown : hash % ids];
  });
}

/** Ids, a mask of those that there are, or zeros (types of tokens), by the input's name. */
function idsOf(name, [, length], tokens) {
  const value = (i) => /mask/.test(name) ? Number(i < tokens.length) : /type/.test(name) ? 0 : tokens[i]?.[1] ?? 0;
  return BigInt64Array.from({ length }, (_, i) => BigInt(value(i)));
}

function showTokens(tokens) {
  element("tokens").replaceChildren(...tokens.map(([word, id]) => {
    const item = document.createElement("span"), number = document.createElement("sub");
    number.textContent = id;
    item.append(word, number);
    return item;
  }));
}

/** Values of an input: the picture or the text for one that looks like it, else small numbers. */
function valuesOf({ name, dtype, shape }, tokens) {
  if (dtype === "float32" && shape.length === 4 && [1, 3].includes(shape[1])) return pixelsOf(shape);
  if (isText({ dtype, shape })) return idsOf(name, shape, tokens);
  const size = shape.reduce((a, b) => a * b, 1), isInt = dtype === "int64";
  if (dtype !== "float32") return isInt ? BigInt64Array.from({ length: size }, (_, i) => BigInt(1 + i % 17)) : Array.from({ length: size }, () => 1);
  return Float32Array.from({ length: size }, (_, i) => Math.sin(i / 7));
}

// ---- results

function showTop(values, labels) {
  const sum = values.reduce((a, b) => a + b, 0), isShare = values.every((v) => v >= 0) && Math.abs(sum - 1) < 1e-2;
  const largest = Math.max(...values), powers = values.map((v) => Math.exp(v - largest)), total = powers.reduce((a, b) => a + b, 0);
  const shares = isShare ? values : powers.map((power) => power / total);
  const best = shares.map((share, i) => ({ share, i })).sort((a, b) => b.share - a.share).slice(0, kTop);
  element("top").replaceChildren(...best.map(({ share, i }) => {
    const item = document.createElement("li"), name = document.createElement("span"), bar = document.createElement("i"), number = document.createElement("b");
    name.textContent = labels?.[i] ?? `class ${i}`;
    bar.style.setProperty("--share", share);
    number.textContent = `${(100 * share).toFixed(1)} %`;
    item.append(name, number, bar);
    return item;
  }));
  return best.map(({ i }) => i);
}

async function runOnce() {
  const entry = list[element("model").value], place = element("place").value;
  const isLive = camera !== null;
  element("run").disabled = true;
  if (!isLive) {
    ["run-time", "first-time", "load-time", "file-size"].forEach((id) => show(id, "–"));
    element("top").replaceChildren();
  }
  try {
    const { model, size, time } = await load(entry, place);
    show("load-time", duration(time));
    show("file-size", megabytes(size));
    show("about", entry.about);
    if (!isLive) say("running");
    const words = model.inputs.find(isText), tokens = words ? tokensOf(element("text").value, entry).slice(0, words.shape[1]) : [];
    for (const part of document.querySelectorAll(".picture")) part.hidden = words !== undefined;
    for (const id of ["text-field", "tokens"]) element(id).hidden = words === undefined;
    showTokens(tokens);
    const inputs = Object.fromEntries(model.inputs.map((given) => [given.name, valuesOf(given, tokens)]));
    const [output] = model.outputs, once = async () => {
      const results = model.run(inputs), values = [...await results[output.name].values()];
      Object.values(results).forEach((tensor) => tensor.dispose());
      return values;
    };
    await new Promise(requestAnimationFrame);
    let start = performance.now();
    const values = await once();
    show("first-time", milliseconds(performance.now() - start));
    start = performance.now();
    let count = 0;
    do await once(), ++count; while (!isLive && performance.now() - start < kEnough);
    show("run-time", milliseconds((performance.now() - start) / count));
    // Of a text, what the model says behind its last word.
    const classes = output.shape.at(-1), row = words && output.shape.length === 3 ? Math.max(0, tokens.length - 1) : 0;
    const top = showTop(values.slice(row * classes, (row + 1) * classes).map(Number), entry.labels ?? (words && entry.words));
    Object.assign(document.body.dataset, { top: top.join(), values: JSON.stringify(values.slice(0, 1000).map(Number)) });
    say("");
  } catch (error) {
    say(error.message, true);
  }
  element("run").disabled = false;
  element("progress").hidden = true;
  document.body.dataset.runs = ++runs;
}

// One at a time.
const run = () => last = last.then(runOnce);

await connect();
list = await (await fetch(new URL("kernels/models.json", import.meta.url))).json();
element("model").append(...list.map(({ title }, i) => new Option(title, i)));
element("place").append(...(device ? [new Option("WebGPU", "webgpu")] : []), new Option("WebAssembly", "wasm"));
for (const id of ["model", "place"]) element(id).addEventListener("change", run);
element("run").addEventListener("click", run);
element("camera").addEventListener("click", watch);
element("text").addEventListener("change", run);
element("picture").addEventListener("change", async ({ target: { files: [file] } }) => {
  if (!file) return;
  picture = await createImageBitmap(file);
  run();
});
run();
