// SPDX-License-Identifier: Apache-2.0
import * as tern from "../tern.js";
import { highlight } from "./draw.js";
import { kKernels, setPicture } from "./kernels.js";

const kEnough = 300; // milliseconds to measure for
const element = (id) => document.getElementById(id);
const modules = new Map();
let current = null, kernel = kKernels[0], runs = 0, last = Promise.resolve();

const choice = () => kernel.choices?.[element("choice-value").value];
const show = (id, text) => { element(id).textContent = text; };
const milliseconds = (time) => `${time < 10 ? time.toFixed(2) : time < 100 ? time.toFixed(1) : Math.round(time)} ms`;

function say(text, isBad = false) {
  show("status", text);
  element("status").classList.toggle("bad", isBad);
}

// ---- the device

/** What the page runs on; null where there is none. */
export const device = () => current;

function showDevice(text, isOn) {
  show("device", text);
  element("device").className = isOn ? "chip on" : "chip off";
}

async function connect() {
  try {
    current = await tern.init();
  } catch (error) {
    return showDevice(error.message, false);
  }
  const { vendor, architecture, description } = current.gpu.adapterInfo ?? {};
  showDevice(`WebGPU: ${description || [vendor, architecture].filter(Boolean).join(" ") || "a GPU"}`, true);
  current.lost.then((reason) => {
    showDevice(`lost: ${reason}`, false);
    modules.clear();
    current = null;
  });
}

// A device that was lost is replaced by a new one.
async function load(file) {
  if (!current) await connect();
  if (!modules.has(file)) modules.set(file, await tern.load(new URL(file, import.meta.url), current));
  return modules.get(file);
}

// ---- running

/** How long the body takes, by itself. It has run once. */
async function measure(body, first) {
  if (first > kEnough) return first;
  const start = performance.now();
  let count = 0;
  do await body(), ++count; while (performance.now() - start < kEnough);
  return (performance.now() - start) / count;
}

async function timed(body) {
  const start = performance.now();
  await body();
  return measure(body, performance.now() - start);
}

function largestDifference(a, b) {
  let difference = 0;
  a.forEach((value, i) => { difference = Math.max(difference, Math.abs(value - b[i])); });
  return difference;
}

async function runOnDevice(module, inputs, shape) {
  const tensors = inputs.map(({ values, shape: extents }) => current.tensor(values, extents)), output = current.zeros(shape);
  const time = await timed(() => {
    module.functions[kernel.name](...tensors, output);
    return current.sync();
  });
  const values = await output.data();
  [...tensors, output].forEach((tensor) => tensor.dispose());
  show("gpu-time", milliseconds(time));
  show("gpu-rate", (kernel.operations(choice()) / time / 1e6).toPrecision(3));
  return values;
}

async function runOnHost(module, inputs, shape) {
  const tensors = inputs.map(({ values, shape: extents }) => tern.host.tensor(values, extents)), output = tern.host.zeros(shape);
  const time = await timed(() => module.functions[`${kernel.name}_host`](...tensors, output));
  show("host-time", milliseconds(time));
  return output.data();
}

function showRunning(isRunning) {
  element("run").disabled = isRunning;
  show("run", isRunning ? "Running" : "Run");
}

async function runOnce() {
  const chosen = choice();
  showRunning(true);
  say("");
  ["gpu-time", "gpu-rate", "host-time", "difference"].forEach((id) => show(id, "–"));
  try {
    const module = await load(kernel.file(chosen)), inputs = kernel.inputs(chosen), shape = kernel.output(chosen);
    showSource(module);
    const onDevice = current && await runOnDevice(module, inputs, shape);
    if (onDevice) kernel.draw(canvases(), inputs, onDevice, chosen);
    await new Promise(requestAnimationFrame);
    const onHost = await runOnHost(module, inputs, shape);
    if (onDevice) show("difference", Number(largestDifference(onDevice, onHost).toPrecision(2)));
    else kernel.draw(canvases(), inputs, onHost, chosen);
    say(onDevice ? "" : "This browser has no WebGPU: the host code of the file computed the result.");
  } catch (error) {
    say(error.message, true);
  }
  showRunning(false);
  document.body.dataset.runs = ++runs;
}

// One at a time.
function run() {
  last = last.then(runOnce);
  return last;
}

// ---- the page

const canvases = () => [...element("views").querySelectorAll("canvas")];

function showSource(module) {
  const [[name, text]] = module.shaders;
  show("source-name", name);
  element("source").innerHTML = highlight(text);
}

async function select(next) {
  await last;
  kernel = next;
  show("about", kernel.about);
  element("choice").hidden = !kernel.choices;
  element("picture").hidden = !kernel.hasPicture;
  show("choice-name", kernel.choice ?? "");
  element("choice-value").replaceChildren(...Object.keys(kernel.choices ?? {}).map((name) => new Option(name, name, false, name === kernel.chosen)));
  element("views").style.gridTemplateColumns = `repeat(${Math.min(kernel.views.length, kernel.wide ?? Infinity)}, minmax(0, 1fr))`;
  element("views").replaceChildren(...kernel.views.map((name, i) => {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    figure.className = i === kernel.wide ? "wide" : "";
    caption.textContent = name;
    figure.append(document.createElement("canvas"), caption);
    return figure;
  }));
  return run();
}

function makeTabs() {
  element("kernels").append(...kKernels.map((each, i) => {
    const label = document.createElement("label"), input = document.createElement("input"), text = document.createElement("span");
    Object.assign(input, { type: "radio", name: "kernel", value: each.name, checked: i === 0 });
    input.addEventListener("change", () => select(each));
    text.textContent = each.title;
    label.append(input, text);
    return label;
  }));
}

makeTabs();
element("run").addEventListener("click", run);
element("choice-value").addEventListener("change", run);
element("copy").addEventListener("click", () => navigator.clipboard.writeText(element("source").textContent));
element("picture").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  setPicture(await createImageBitmap(file));
  run();
});
select(kernel);
