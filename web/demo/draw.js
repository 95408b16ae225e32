// SPDX-License-Identifier: Apache-2.0

// Pictures of results.

// From dark blue over teal to light yellow, at equal steps.
const kStops = [[13, 20, 48], [22, 62, 104], [15, 118, 110], [94, 180, 120], [232, 220, 120], [255, 250, 220]];

function colour(t) {
  const at = Math.min(Math.max(t, 0), 1) * (kStops.length - 1), i = Math.min(Math.floor(at), kStops.length - 2);
  return kStops[i].map((low, c) => low + (kStops[i + 1][c] - low) * (at - i));
}

function sized(canvas, width, height) {
  Object.assign(canvas, { width, height });
  return canvas.getContext("2d");
}

/** A matrix, its smallest number dark and its largest light. */
export function drawMatrix(canvas, values, rows, columns) {
  let low = Infinity, high = -Infinity;
  for (const value of values) low = Math.min(low, value), high = Math.max(high, value);
  const context = sized(canvas, columns, rows), image = context.createImageData(columns, rows);
  values.forEach((value, i) => image.data.set([...colour((value - low) / (high - low || 1)), 255], 4 * i));
  context.putImageData(image, 0, 0);
}

/** Pixels of three floats, 0 to 1. */
export function drawPicture(canvas, values, rows, columns) {
  const context = sized(canvas, columns, rows), image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; ++i)
    for (let c = 0; c < 4; ++c) image.data[4 * i + c] = c < 3 ? 255 * values[3 * i + c] : 255;
  context.putImageData(image, 0, 0);
}

/** Lines of several series of numbers, each with a scale of its own. */
export function drawLines(canvas, series) {
  const width = 1200, height = 260, context = sized(canvas, width, height);
  series.forEach(({ values, style }) => {
    const low = Math.min(...values), high = Math.max(...values);
    context.beginPath();
    values.forEach((value, i) => context.lineTo(
      (i / (values.length - 1)) * width, height - 10 - ((value - low) / (high - low || 1)) * (height - 20)));
    Object.assign(context, { strokeStyle: style, lineWidth: 3, lineJoin: "round" });
    context.stroke();
  });
}

/** WGSL as HTML with classes for colours. */
export function highlight(text) {
  const escaped = text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
  const pattern = /(\/\/[^\n]*)|\b(fn|let|var|struct|return|if|else|for|while|loop|break|continue|enable|override|const|true|false)\b|(@\w+|\b(?:[fiu]32|f16|bool|vec[234]|array|atomic|ptr)\b)|(\b(?:0x[0-9a-f]+|[0-9][0-9.]*(?:e[-+]?[0-9]+)?)[iufh]?\b)/g;
  return escaped.replace(pattern, (all, comment, keyword, type) =>
    `<span class="${comment ? "c" : keyword ? "k" : type ? "t" : "n"}">${all}</span>`);
}
