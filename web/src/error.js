// SPDX-License-Identifier: Apache-2.0

/** What Tern's functions throw: `kind` is "ValueError", "TypeError" or "RuntimeError", as in Tern's other languages. */
export class TernError extends Error {
  constructor(kind, message) {
    super(message);
    this.name = "TernError";
    this.kind = kind;
  }
}

/** For mistakes of the user. The message is made when it is needed. */
export function check(condition, message) {
  if (!condition) throw new TernError("ValueError", message());
}

/** Puts `prefix` in front of the message of what `body` throws. */
export function naming(prefix, body) {
  try {
    return body();
  } catch (error) {
    throw error instanceof TernError ? new TernError(error.kind, prefix + error.message) : error;
  }
}
