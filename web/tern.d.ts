// SPDX-License-Identifier: Apache-2.0

/** What Tern throws, with the messages of Tern's runtime. */
export class TernError extends Error {
  readonly kind: "ValueError" | "TypeError" | "RuntimeError" | string;
}

export type DType =
  | "bool" | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
  | "float16" | "bfloat16" | "float32" | "float64" | "float8_e4m3fn" | "float8_e5m2";

/** Floats of 8 and 16 bits are kept as their bits, in a Uint8Array or Uint16Array. */
export type TypedArray =
  | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Float32Array | Float64Array;

/** Elements in memory of a device ("webgpu") or of the page ("cpu"). */
export class Tensor {
  readonly device: "cpu" | "webgpu";
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements; null: compact, row major. */
  readonly strides: readonly number[] | null;
  readonly byteOffset: number;
  readonly size: number;
  readonly byteLength: number;
  /** Another look at the same memory. The byte offset counts from the start of this tensor. */
  view(options?: { dtype?: DType; shape?: number[]; strides?: number[] | null; byteOffset?: number }): Tensor;
  /** The elements in row-major order, in an array of its own. Waits for the work before it, and throws what went wrong in it. */
  data(): Promise<TypedArray>;
  /** Like data(), but floats of 8 and 16 bits become a Float32Array. */
  values(): Promise<TypedArray>;
  /** Replaces all elements of a compact tensor. */
  write(values: TypedArray | (number | bigint)[]): void;
  /** Gives the memory back now, that of all views of it; without this it goes when nobody has the tensor any more. */
  dispose(): void;
}

/** Where tensors can be. */
export interface Place {
  /**
   * A tensor with a copy of the elements. The type is that of the array, or `dtype`; numbers, and for floats of 8 and 16 bits a
   * Float32Array, are converted. Without a shape it has one axis.
   */
  tensor(values: TypedArray | (number | bigint)[], shape?: number[], dtype?: DType): Tensor;
  zeros(shape: number[], dtype?: DType): Tensor;
}

/** Memory of the page, for functions that the host runs. A call copies tensors to the host code's memory, and results back. */
export const host: Place;

/** A WebGPU device. */
export class Device implements Place {
  constructor(device: GPUDevice);
  readonly gpu: GPUDevice;
  /** Resolves with the reason when the device is gone. Everything then throws; init() gives a new one, for which files are loaded again. */
  readonly lost: Promise<string>;
  tensor(values: TypedArray | (number | bigint)[], shape?: number[], dtype?: DType): Tensor;
  zeros(shape: number[], dtype?: DType): Tensor;
  /** Submits the work of all calls in `body` at once, when it returns. It does not wait for promises. */
  batch<T>(body: () => T): T;
  /** Waits for all work, and throws what went wrong in it. */
  sync(): Promise<void>;
  /** Throws where the device was lost. */
  check(): void;
  destroy(): void;
}

/** A device with the limits and features of the adapter; or the page's own, which kernels then have to fit. */
export function init(options?: { device?: GPUDevice; powerPreference?: GPUPowerPreference }): Promise<Device>;

export interface Param {
  name: string;
  dtype: { name: string; code: number; bits: number; lanes: number };
  is_tensor: boolean;
  is_output: boolean;
  /** Extents as text: "128", "n", "n * 2". */
  shape: string[];
  strides: string[];
}

/** Checks its arguments, and puts its work into the device's queue; it returns before that is done. */
export interface TernFunction {
  (...args: (Tensor | number | bigint | boolean | null)[]): void;
  readonly params: Param[];
}

/** A loaded file. */
export class Module {
  readonly name: string;
  readonly functions: Record<string, TernFunction>;
  /** The shaders by the names of their kernels. */
  readonly shaders: Map<string, string>;
  /** The section `meta` of the file. */
  readonly meta: { target: string; device: string; hosts: string[]; functions: { name: string; params: Param[]; device?: string; prepare?: string; prepared?: string }[] };
  /** A function by its name; says what there is where there is none. */
  get(name: string): TernFunction;
  /** Of a file of a model. */
  readonly model?: Model;
}

/**
 * Loads a .tern file, verifies it and compiles its shaders. Without a device, functions that the host runs can be called.
 * `name` is what messages call it.
 */
export function load(source: string | URL | Response | ArrayBufferLike | ArrayBufferView, device?: Device | null, options?: { name?: string }): Promise<Module>;

/** An input or output of a model. Characters of its name in the ONNX file that are no letters and digits are `_`. */
export interface Port {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** What an input of a model may be: an array of its elements, or a tensor where the model runs. */
export type ModelInput = Tensor | TypedArray | (number | bigint)[];

/** A model of `tern compile --executor=aot`, with its weights where it runs. */
export class Model {
  readonly name: string;
  /** "webgpu" or "cpu". */
  readonly device: string;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /**
   * Runs it: inputs by their names, or the only one; gives tensors by the outputs' names. Like every function, it returns before a
   * device is done: `await result.y.data()` waits.
   */
  run(inputs: Record<string, ModelInput> | ModelInput): Record<string, Tensor>;
  /** Gives the memory of the weights back. */
  dispose(): void;
}

/** Loads a model, verifies it, compiles its shaders and brings its weights to the device. Without a device it runs as WebAssembly. */
export function loadModel(source: string | URL | Response | ArrayBufferLike | ArrayBufferView, device?: Device | null, options?: { name?: string }): Promise<Model>;

/** A file's contents, verified as they are asked for. */
export class Artifact {
  static open(bytes: Uint8Array, name: string): Promise<Artifact>;
  readonly name: string;
  readonly meta: Module["meta"];
  /** The machines that it has host code for. */
  readonly hosts: string[];
  hostCode(): Promise<Uint8Array>;
  readImports(): Promise<{ kind: string; kernels: Map<string, unknown>; payload: Map<string, Uint8Array> }[]>;
}

/** The bits of floats of 8 or 16 bits that are nearest to numbers, and the numbers that bits stand for. */
export function fromFloats(values: Iterable<number>, dtype: DType): Uint8Array | Uint16Array;
export function toFloats(bits: Uint8Array | Uint16Array, dtype: DType): Float32Array;
