// SPDX-License-Identifier: Apache-2.0

// What the page shows: for each kernel, its choices, its arguments, and how they are drawn.
import { drawLines, drawMatrix, drawPicture } from "./draw.js";

const kRows = 480, kColumns = 640, kSoftmax = 512;
const kFilters = {
  "Emboss": [-2, -1, 0, -1, 1, 1, 0, 1, 2],
  "Edges": [-1, -1, -1, -1, 8, -1, -1, -1, -1],
  "Sharpen": [0, -1, 0, -1, 5, -1, 0, -1, 0],
  "Blur": [1, 2, 1, 2, 4, 2, 1, 2, 1].map((weight) => weight / 16),
};

const matrix = (rows, columns, element) =>
  Float32Array.from({ length: rows * columns }, (_, i) => element(Math.floor(i / columns), i % columns));

// Waves in rows and in columns: their product is where they meet.
function matmulInputs(n) {
  const wave = (position, k) => Math.cos(Math.PI * (k % 23) * (2 * position / n - 1) ** 2 + 0.13 * (k % 7)) / Math.sqrt(n);
  return [{ values: matrix(n, n, wave), shape: [n, n] }, { values: matrix(n, n, (k, j) => wave(j, k)), shape: [n, n] }];
}

function softmaxInputs() {
  const hills = (i, j) => 4 * Math.sin(i / 40 + j / 25) + 3 * Math.cos(j / 60 - i / 90) + Math.sin(i * j / 5000);
  return [{ values: matrix(kSoftmax, kSoftmax, hills), shape: [kSoftmax, kSoftmax] }];
}

// Bands of light behind discs, which have grooves.
function makePicture() {
  const discs = [[150, 190, 105, [0.95, 0.66, 0.2]], [330, 430, 120, [0.16, 0.62, 0.58]], [120, 500, 62, [0.86, 0.3, 0.36]]];
  const values = new Float32Array(kRows * kColumns * 3);
  for (let y = 0; y < kRows; ++y)
    for (let x = 0; x < kColumns; ++x) {
      let pixel = [0.18 + 0.5 * (y / kRows), 0.3 + 0.35 * (x / kColumns), 0.55 + 0.25 * Math.sin((x + y) / 38)];
      for (const [cy, cx, radius, paint] of discs) {
        const distance = Math.hypot(y - cy, x - cx);
        if (distance < radius) pixel = paint.map((c) => c * (1 - 0.45 * (distance / radius) ** 2 + 0.12 * Math.sin(distance / 2.2)));
      }
      values.set(pixel, 3 * (y * kColumns + x));
    }
  return values;
}

let picture = null;
export function setPicture(image) {
  const canvas = new OffscreenCanvas(kColumns, kRows), context = canvas.getContext("2d");
  const scale = Math.max(kColumns / image.width, kRows / image.height), width = image.width * scale, height = image.height * scale;
  context.drawImage(image, (kColumns - width) / 2, (kRows - height) / 2, width, height);
  const { data } = context.getImageData(0, 0, kColumns, kRows);
  picture = Float32Array.from({ length: kRows * kColumns * 3 }, (_, i) => data[4 * Math.floor(i / 3) + (i % 3)] / 255);
}

export const kKernels = [
  {
    name: "matmul", title: "Matmul", about: "The matrix product C = A · B in float32. Blocks of threads keep tiles of A and B in workgroup memory, each thread its sums in registers.",
    choice: "Size", choices: { "256 × 256": 256, "512 × 512": 512, "1024 × 1024": 1024 }, chosen: "512 × 512",
    file: (n) => `kernels/matmul_${n}.tern`,
    inputs: matmulInputs, output: (n) => [n, n], operations: (n) => 2 * n ** 3,
    views: ["A", "B", "C = A · B"],
    draw: (canvases, [a, b], c, n) => [a.values, b.values, c].forEach((values, i) => drawMatrix(canvases[i], values, n, n)),
  },
  {
    name: "softmax", title: "Softmax", about: "Y = softmax of every row of a 512 × 512 matrix. A block of threads has a row: its largest number and its sum are found together.",
    file: () => "kernels/softmax.tern",
    inputs: softmaxInputs, output: () => [kSoftmax, kSoftmax], operations: () => 5 * kSoftmax ** 2,
    views: ["X", "softmax(X)", "one row: X in grey, softmax in colour"], wide: 2,
    draw: (canvases, [x], y) => {
      const row = (values) => [...values.subarray(200 * kSoftmax, 201 * kSoftmax)];
      [x.values, y].forEach((values, i) => drawMatrix(canvases[i], values, kSoftmax, kSoftmax));
      drawLines(canvases[2], [{ values: row(x.values), style: "#8a9a98" }, { values: row(y), style: "#14a098" }]);
    },
  },
  {
    name: "filter", title: "Image filter", about: "Every pixel of a picture becomes a weighted sum of the nine around it.",
    choice: "Filter", choices: Object.fromEntries(Object.keys(kFilters).map((name) => [name, name])), chosen: "Emboss", hasPicture: true,
    file: () => "kernels/filter.tern",
    inputs: (name) => [{ values: picture ??= makePicture(), shape: [kRows, kColumns, 3] }, { values: Float32Array.from(kFilters[name]), shape: [3, 3] }],
    output: () => [kRows, kColumns, 3], operations: () => 2 * 9 * 3 * kRows * kColumns,
    views: ["before", "after"],
    draw: (canvases, [x], y) => [x.values, y].forEach((values, i) => drawPicture(canvases[i], values, kRows, kColumns)),
  },
];
