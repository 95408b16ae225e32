// SPDX-License-Identifier: Apache-2.0

// WebGPU kernels (docs/webgpu.md): their pipelines, and what a launch puts into the commands of a device.
import { fits, isFloat, isHandle } from "./dtype.js";
import { TernError } from "./error.js";

const kMaxBindGroups = 32;
const kConstants = ["tern_block_x", "tern_block_y", "tern_block_z"];

const typeError = (what) => new TernError("TypeError", what);

/** What a launch says, from the values that host code gave. tern/runtime/kernel_launch.cc has the same checks. */
class Launch {
  grid = [1, 1, 1];
  block = [1, 1, 1];

  constructor(name, info, values, describe) {
    const { args, launchTags } = info, expected = 1 + args.length + launchTags.length;
    if (values.length !== expected)
      throw typeError(`kernel ${name}: expected ${expected} values (the device id, ${args.length} arguments, ${
        launchTags.length} launch extents), got ${values.length}`);
    const fail = (what, legal, value) => {
      throw typeError(`kernel ${name}: ${what}: expected ${legal}, got ${describe(value)}`);
    };
    this.args = args.map((type, i) => {
      const converted = this.#convert(type, values[1 + i]);
      if (converted === null) fail(`argument ${i}`, isHandle(type) ? "a buffer" : type.name, values[1 + i]);
      return converted;
    });
    launchTags.forEach((tag, i) => {
      const value = values[1 + args.length + i];
      if (typeof value !== "bigint" || value < 0n || value > 0xffffffffn) fail(`extent of ${tag}`, "a size of 32 bits", value);
      const axis = "xyz".indexOf(tag.at(-1));
      if (tag.startsWith("blockIdx")) this.grid[axis] = Number(value);
      else if (tag.startsWith("threadIdx")) this.block[axis] = Number(value);
    });
  }

  #convert(type, value) {
    if (isHandle(type)) return value?.handle ? value.handle : null;
    if (typeof value === "boolean") value = BigInt(value);
    if (isFloat(type)) return typeof value === "bigint" || typeof value === "number" ? Number(value) : null;
    return typeof value === "bigint" && fits(type, value) ? value : null;
  }

  get isEmpty() {
    return [...this.grid, ...this.block].includes(0);
  }
  get sizes() {
    return `grid (${this.grid.join(", ")}), block (${this.block.join(", ")})`;
  }
}

export class Kernel {
  #device;
  #pipelines = new Map(); // by the block's size where launches say it
  #bindGroups = new Map();
  #layout;
  #scalarTypes;

  constructor(device, name, info, wgsl) {
    Object.assign(this, { name, info, wgsl });
    this.#device = device;
    this.#scalarTypes = info.args.filter((type) => !isHandle(type));
    const { tensors, scalars } = info.bindings;
    if (tensors.length + this.#scalarTypes.length !== info.args.length || (scalars?.offsets.length ?? 0) !== this.#scalarTypes.length)
      throw new TernError("ValueError", `kernel ${name}: its bindings are not those of its arguments`);
  }

  get #missing() {
    return this.info.bindings.features.filter((feature) => !this.#device.gpu.features.has(feature));
  }
  get #isFixed() {
    return !this.info.bindings.block.includes(0);
  }

  /** Compiles it where that can be done before a launch. */
  async prepare() {
    if (this.#isFixed && !this.#missing.length) this.#pipelines.set("", await this.#device.pipelines.get(this.#descriptor([])));
  }

  #descriptor(block) {
    const { tensors, scalars } = this.info.bindings, { COMPUTE: visibility } = GPUShaderStage;
    const entries = tensors.map(({ binding, access }) => (
      { binding, visibility, buffer: { type: access === "read" ? "read-only-storage" : "storage" } }));
    if (scalars)
      entries.push({ binding: scalars.binding, visibility, buffer: { type: "uniform", hasDynamicOffset: true } });
    this.#layout ??= this.#device.gpu.createBindGroupLayout({ label: this.name, entries });
    const constants = {};
    block.forEach((extent, i) => { if (this.info.bindings.block[i] === 0) constants[kConstants[i]] = extent; });
    return { label: this.name, wgsl: this.wgsl, layout: this.#layout, entries, constants };
  }

  #pipeline(block) {
    const missing = this.#missing;
    if (missing.length) throw new TernError("RuntimeError", `the device has no ${missing.join(", ")}, which the kernel was compiled for`);
    const key = this.#isFixed ? "" : block.join();
    if (!this.#pipelines.has(key)) this.#pipelines.set(key, this.#device.pipelines.getNow(this.#descriptor(block)));
    return this.#pipelines.get(key);
  }

  /** Adds a launch to the device's commands. `memoryOf` finds memory by its handle. */
  launch(values, describe, memoryOf) {
    const launch = new Launch(this.name, this.info, values, describe);
    if (launch.isEmpty) return;
    try {
      this.#record(launch, memoryOf);
    } catch (error) {
      throw new TernError(error.kind ?? "RuntimeError", `kernel ${this.name}: ${launch.sizes}: ${error.message}`);
    }
  }

  #record(launch, memoryOf) {
    const { info } = this, { block, rows } = info.bindings, { commands } = this.#device;
    block.forEach((extent, i) => {
      if (extent && extent !== launch.block[i]) throw typeError(`the kernel was compiled for blocks of (${block.join(", ")})`);
    });
    const pipeline = this.#pipeline(launch.block), grid = this.#gridOf(launch, rows);
    const memories = this.#separate(launch.args.filter((_, i) => isHandle(info.args[i])).map(memoryOf));
    const offset = info.bindings.scalars ? [commands.addScalars(info.bindings.scalars.bytes, (view, at) => this.#writeScalars(launch, view, at))] : [];
    const pass = commands.pass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.#bindGroup(memories), offset);
    pass.dispatchWorkgroups(...grid);
  }

  // A dimension of a grid has a limit; blocks beyond it are further rows, where the kernel knows of them.
  #gridOf({ grid: [x, y, z] }, rows) {
    const most = this.#device.gpu.limits.maxComputeWorkgroupsPerDimension;
    if (x > most && rows && y === 1) {
      const count = Math.ceil(x / most);
      [x, y] = [Math.ceil(x / count), count];
    }
    if (Math.max(x, y, z) > most) throw new TernError("ValueError", `the device takes at most ${most} blocks on an axis of the grid`);
    return [x, y, z];
  }

  // WebGPU refuses a buffer that is written and bound twice: tensors that are only read are copied.
  #separate(memories) {
    const { tensors } = this.info.bindings, { commands, workspace } = this.#device;
    const written = memories.filter((_, i) => tensors[i].access !== "read");
    if (new Set(written).size < written.length)
      throw new TernError("ValueError", "two tensors that are written lie in one buffer, which WebGPU does not allow");
    const copies = new Map();
    const separate = memories.map((memory, i) => {
      if (tensors[i].access !== "read" || !written.includes(memory)) return memory;
      if (!copies.has(memory)) {
        const copy = workspace.take(memory.size);
        commands.copy(memory, copy, memory.size);
        copies.set(memory, copy);
      }
      return copies.get(memory);
    });
    for (const copy of copies.values()) workspace.giveBack(copy.id);
    return separate;
  }

  #writeScalars(launch, view, at) {
    const { offsets } = this.info.bindings.scalars;
    launch.args.filter((_, i) => !isHandle(this.info.args[i])).forEach((value, i) => {
      const type = this.#scalarTypes[i], to = at + offsets[i];
      if (isFloat(type)) view.setFloat32(to, value, true);
      else if (type.bits === 64) view.setBigInt64(to, value, true);
      else view.setInt32(to, Number(BigInt.asIntN(32, value)), true);
    });
  }

  #bindGroup(memories) {
    const scalars = this.#device.commands.scalarsBuffer, key = memories.map(({ id }) => id).join();
    let group = this.#bindGroups.get(key);
    if (group) return group;
    const { tensors, scalars: bound } = this.info.bindings;
    const entries = tensors.map(({ binding }, i) => ({ binding, resource: { buffer: memories[i].buffer } }));
    if (bound) entries.push({ binding: bound.binding, resource: { buffer: scalars, size: bound.bytes } });
    group = this.#device.gpu.createBindGroup({ layout: this.#layout, entries });
    if (this.#bindGroups.size >= kMaxBindGroups) this.#bindGroups.delete(this.#bindGroups.keys().next().value);
    this.#bindGroups.set(key, group);
    return group;
  }
}
