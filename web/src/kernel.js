// SPDX-License-Identifier: Apache-2.0

// WebGPU kernels (docs/webgpu.md).
import { fits, isFloat, isHandle, parseType } from "./dtype.js";
import { check, runtimeError, TernError, typeError } from "./error.js";

const kUint32 = parseType("uint32"), kConstants = ["x", "y", "z"].map((axis) => `tern_block_${axis}`);

// A value that host code gave as an argument of the type, or null.
function convert(type, value) {
  if (isHandle(type)) return value?.pointer || null;
  if (typeof value === "boolean") value = BigInt(value);
  if (isFloat(type)) return typeof value === "bigint" || typeof value === "number" ? Number(value) : null;
  return typeof value === "bigint" && fits(type, value) ? value : null;
}

/** {args, grid, block} of a launch; checked as in tern/runtime/kernel/kernel_launch.cc. */
function readLaunch(name, { args, launch_tags: tags }, values, describe) {
  const types = [...args, ...tags.map(() => kUint32)], grid = [1, 1, 1], block = [1, 1, 1];
  if (values.length !== 1 + types.length)
    throw typeError(`kernel ${name}: expected ${1 + types.length} values (the device id, ${args.length} arguments, ${
      tags.length} launch extents), got ${values.length}`);
  const converted = types.map((type, i) => {
    const value = convert(type, values[1 + i]);
    if (value !== null) return value;
    throw typeError(`kernel ${name}: argument ${i}: expected ${isHandle(type) ? "a buffer" : type.name}, got ${describe(values[1 + i])}`);
  });
  tags.forEach((tag, i) => {
    (tag.startsWith("blockIdx") ? grid : block)["xyz".indexOf(tag.at(-1))] = Number(converted[args.length + i]);
  });
  return { args: converted.slice(0, args.length), grid, block };
}

export class Kernel {
  #device;
  #pipelines = new Map(); // by the block's size where launches say it
  #layout;

  constructor(device, name, info, wgsl) {
    this.#device = device;
    Object.assign(this, { name, info, wgsl });
    check(info.bindings && wgsl, () => `kernel ${name} has no ${wgsl ? "bindings" : "shader"}`);
  }

  get #missing() {
    return this.info.bindings.features.filter((feature) => !this.#device.gpu.features.has(feature)).join(", ");
  }
  get #isFixed() {
    return !this.info.bindings.block.includes(0);
  }

  /** Compiles it where that can be done before a launch. */
  async prepare() {
    if (this.#isFixed && !this.#missing) this.#pipelines.set("", await this.#device.pipeline(this.#description([])));
  }

  #description(block) {
    const { tensors, scalars, block: fixed } = this.info.bindings, visibility = GPUShaderStage.COMPUTE;
    const entries = tensors.map(({ binding, access }) => (
      { binding, visibility, buffer: { type: access === "read" ? "read-only-storage" : "storage" } }));
    if (scalars) entries.push({ binding: scalars.binding, visibility, buffer: { type: "uniform" } });
    this.#layout ??= this.#device.gpu.createBindGroupLayout({ entries });
    const constants = Object.fromEntries(kConstants.map((name, i) => [name, block[i]]).filter((_, i) => fixed[i] === 0));
    return { name: this.name, wgsl: this.wgsl, layout: this.#layout, entries, constants };
  }

  #pipeline(block) {
    if (this.#missing) throw runtimeError(`the device has no ${this.#missing}, which the kernel was compiled for`);
    const key = this.#isFixed ? "" : block.join();
    if (!this.#pipelines.has(key)) this.#pipelines.set(key, this.#device.makePipeline(this.#description(block))[0]);
    return this.#pipelines.get(key);
  }

  /** Adds a launch to the device's commands. `memoryOf` finds memory by its handle. */
  launch(values, describe, memoryOf) {
    const launch = readLaunch(this.name, this.info, values, describe), { grid, block } = launch;
    if ([...grid, ...block].includes(0)) return;
    try {
      this.#record(launch, memoryOf);
    } catch (error) {
      throw new TernError(error.kind ?? "RuntimeError",
                          `kernel ${this.name}: grid (${grid.join(", ")}), block (${block.join(", ")}): ${error.message}`);
    }
  }

  #record({ args, grid, block }, memoryOf) {
    const { args: types, bindings } = this.info, { commands } = this.#device;
    if (bindings.block.some((extent, i) => extent && extent !== block[i]))
      throw typeError(`the kernel was compiled for blocks of (${bindings.block.join(", ")})`);
    const pipeline = this.#pipeline(block), blocks = this.#rowsOf(grid);
    const memories = this.#separate(args.filter((_, i) => isHandle(types[i])).map(memoryOf)), { scalars } = bindings;
    const entries = bindings.tensors.map(({ binding }, i) => ({ binding, resource: { buffer: memories[i].buffer } }));
    if (scalars) {
      const offset = commands.addScalars(scalars.bytes, (view, at) => this.#putScalars(args, view, at));
      entries.push({ binding: scalars.binding, resource: { buffer: commands.scalars, offset, size: scalars.bytes } });
    }
    const pass = commands.pass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.#device.gpu.createBindGroup({ layout: this.#layout, entries }));
    pass.dispatchWorkgroups(...blocks);
  }

  // Blocks beyond the limit of a dimension are further rows, where the kernel knows of them.
  #rowsOf([x, y, z]) {
    const most = this.#device.gpu.limits.maxComputeWorkgroupsPerDimension, rows = Math.ceil(x / most);
    const blocks = rows > 1 && this.info.bindings.rows ? [Math.ceil(x / rows), y * rows, z] : [x, y, z];
    check(Math.max(...blocks) <= most, () => `the device takes at most ${most} blocks on an axis of the grid`);
    return blocks;
  }

  // WebGPU refuses a buffer that is written and bound twice: those only read are copied.
  #separate(memories) {
    const isRead = (i) => this.info.bindings.tensors[i].access === "read", { commands, workspace } = this.#device, copies = new Map();
    const written = memories.filter((_, i) => !isRead(i));
    check(new Set(written).size === written.length, () => "two tensors that are written lie in one buffer, which WebGPU refuses");
    memories.forEach((memory, i) => {
      if (!isRead(i) || !written.includes(memory) || copies.has(memory)) return;
      copies.set(memory, workspace.take(memory.size));
      commands.copy(memory, copies.get(memory), memory.size);
    });
    for (const copy of copies.values()) workspace.giveBack(copy.id);
    return memories.map((memory, i) => isRead(i) ? copies.get(memory) ?? memory : memory);
  }

  #putScalars(args, view, at) {
    let next = 0;
    this.info.args.forEach((type, i) => {
      if (isHandle(type)) return;
      const to = at + this.info.bindings.scalars.offsets[next++];
      if (isFloat(type)) view.setFloat32(to, args[i], true);
      else if (type.bits === 64) view.setBigInt64(to, args[i], true);
      else view.setUint32(to, Number(BigInt.asUintN(32, args[i])), true);
    });
  }
}
