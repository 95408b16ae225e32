// SPDX-License-Identifier: Apache-2.0

/** What Tern throws; `kind` is "ValueError", "TypeError" or "RuntimeError". */
export class TernError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "TernError";
    this.kind = kind;
  }
}

export const runtimeError = (message) => new TernError("RuntimeError", message);
export const typeError = (message) => new TernError("TypeError", message);

export const shapeText = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

/** For mistakes of the user. */
export function check(condition, message) {
  if (!condition) throw new TernError("ValueError", message());
}
