// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/default_arguments.h"

#include <charconv>
#include <cmath>

#include "tern/ffi/containers.h"

namespace tern::tir {
namespace {

std::string NumberText(const Expr& number) {
  char buffer[64];
  char* end = buffer;
  DataType dtype = number.dtype();
  if (const auto* imm = number.As<ir::FloatImmNode>()) {
    if (std::isnan(imm->value)) return "nan";
    end = dtype.bits() == 64
              ? std::to_chars(buffer, buffer + sizeof buffer, imm->value).ptr
              : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(imm->value)).ptr;
    return {buffer, end};
  }
  int64_t value = number.As<ir::IntImmNode>()->value;
  if (dtype.is_bool()) return value ? "true" : "false";
  return dtype == DataType::UInt(64) ? std::to_string(static_cast<uint64_t>(value))
                                     : std::to_string(value);
}

}  // namespace

PrimFunc WithDefaults(const PrimFunc& function, const std::map<std::string, Expr>& defaults) {
  if (defaults.empty()) return function;
  std::vector<ffi::Any> items;
  for (const auto& [name, value] : defaults) items.emplace_back(name + " = " + NumberText(value));
  return function.WithAttr(attr::kDefaults, ffi::MakeArray(std::move(items)));
}

std::map<std::string, std::string> DefaultsOf(const PrimFunc& function) {
  std::map<std::string, std::string> defaults;
  auto it = function->attrs.find(attr::kDefaults);
  if (it == function->attrs.end()) return defaults;
  for (const ffi::Any& item : *it->second.As<ffi::Array>()) {
    std::string text = item.As<std::string>();
    size_t equals = text.find(" = ");
    if (equals != std::string::npos) defaults[text.substr(0, equals)] = text.substr(equals + 3);
  }
  return defaults;
}

}  // namespace tern::tir
