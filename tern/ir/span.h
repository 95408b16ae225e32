// SPDX-License-Identifier: Apache-2.0
//
// Where a piece of a program came from.
#ifndef TERN_IR_SPAN_H_
#define TERN_IR_SPAN_H_

#include <string>

#include "tern/ffi/object.h"

namespace tern::ir {

// The text of one file.
struct Source : ffi::Object {
  Source(std::string name, std::string text) : name(std::move(name)), text(std::move(text)) {}
  // Without the newline; lines count from 1.
  std::string Line(int line) const;

  std::string name, text;
};

// A place in a source, or nowhere. Line and column count from 1; columns count bytes.
struct Span {
  ffi::Ref<const Source> source;
  int line = 0, column = 0;

  explicit operator bool() const { return static_cast<bool>(source); }
  // "matmul.tir:3:7", or "generated code"; ir::At is for messages that begin with a place
  std::string str() const;
};

}  // namespace tern::ir

#endif  // TERN_IR_SPAN_H_
