// SPDX-License-Identifier: Apache-2.0

// A model that was compiled with --executor=aot: its function `main` takes inputs, outputs and weights.
import { check, shapeText } from "./error.js";
import { host, Tensor } from "./tensor.js";

const kMain = "main", kWeights = "weights";

const portOf = ({ name, dtype, shape }) => Object.freeze({ name, dtype: dtype.name ?? dtype, shape: Object.freeze(shape.map(Number)) });

export class Model {
  #module;
  #place;
  #weights = null;

  constructor(module, device, weights) {
    const main = module.meta.functions.find(({ name }) => name === kMain), { params } = main;
    this.#module = module;
    this.#place = module.meta.device === "cpu" ? host : device;
    const hasWeights = weights !== null;
    const ports = hasWeights ? params.slice(0, -1) : params;
    this.inputs = Object.freeze(ports.filter((param) => !param.is_output).map(portOf));
    this.outputs = Object.freeze(ports.filter((param) => param.is_output).map(portOf));
    if (hasWeights) this.#weights = module.keep(this.#place.tensor(weights));
    Object.assign(this, { name: module.name, device: module.meta.device });
  }

  #input(values, given) {
    const value = values instanceof Object && !ArrayBuffer.isView(values) && !(values instanceof Tensor) && !Array.isArray(values)
      ? values[given.name] : this.inputs.length === 1 ? values : undefined;
    check(value !== undefined, () => `input ${given.name} is missing; the inputs are ${this.inputs.map(({ name }) => name).join(", ")}`);
    if (!(value instanceof Tensor)) return this.#place.tensor(value, [...given.shape], given.dtype);
    check(value.shape.join() === given.shape.join() && value.dtype === given.dtype, () => `input ${given.name}: expected ${given.dtype}${
      shapeText(given.shape)}, got ${value.dtype}${shapeText(value.shape)}`);
    return value;
  }

  /** Runs it: arrays or tensors by the inputs' names, or that of the only one; tensors by the outputs' names. */
  run(values) {
    const inputs = this.inputs.map((given) => this.#input(values, given));
    const outputs = this.outputs.map(({ shape, dtype }) => this.#place.zeros([...shape], dtype));
    this.#module.get(kMain)(...inputs, ...outputs, ...this.#weights ? [this.#weights] : []);
    inputs.forEach((tensor, i) => { if (tensor !== values && tensor !== values?.[this.inputs[i].name]) tensor.dispose(); });
    return Object.fromEntries(this.outputs.map(({ name }, i) => [name, outputs[i]]));
  }

  dispose() {
    this.#weights?.dispose();
  }
}
