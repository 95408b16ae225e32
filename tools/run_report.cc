// SPDX-License-Identifier: Apache-2.0
#include "tools/run_report.h"

#include <charconv>
#include <sstream>

#include "tern/ffi/escape_text.h"
#include "tern/ffi/registry.h"
#include "tern/ffi/text.h"
#include "tern/runtime/prepared_function.h"
#include "tern/runtime/typed_elements.h"

namespace tern::tools {
namespace {

template <class T>
T Parse(const std::string& option, const std::string& text, const char* what) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  TERN_CHECK(error == std::errc() && end == text.data() + text.size())
      << option << ": expected " << what << ", got \"" << text << "\"";
  return value;
}

std::string Duration(double seconds) {
  std::ostringstream out;
  out.precision(3);
  if (seconds < 1e-3)
    out << seconds * 1e6 << " us";
  else if (seconds < 1)
    out << seconds * 1e3 << " ms";
  else
    out << seconds << " s";
  return out.str();
}

std::string Shape(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "scalar" : text;
}

double Sum(const runtime::Tensor& tensor) {
  double sum = 0;
  int64_t count = tensor->num_elements();
  bool typed = runtime::WithTypedElements(tensor, [&](const auto* data) {
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(data[i]);
  });
  for (int64_t i = 0; !typed && i < count; ++i) sum += GetElement(tensor, i);
  return sum;
}

}  // namespace

std::pair<std::string, std::string> SplitAssignment(const std::string& option,
                                                    const std::string& text) {
  size_t at = text.find('=');
  TERN_CHECK(at != std::string::npos && at > 0 && at + 1 < text.size())
      << option << ": expected name=value, got \"" << text << "\"";
  return {text.substr(0, at), text.substr(at + 1)};
}

int64_t ParseInteger(const std::string& option, const std::string& text) {
  return Parse<int64_t>(option, text, "an integer");
}

double ParseNumber(const std::string& option, const std::string& text) {
  return Parse<double>(option, text, "a number");
}

const runtime::FunctionInfo& FindEntry(const runtime::ArtifactMeta& meta, const std::string& name) {
  std::vector<std::string> names;
  const std::set<std::string> parts = meta.PartNames();
  const runtime::FunctionInfo* whole = nullptr;
  int count = 0;
  for (const runtime::FunctionInfo& function : meta.functions) {
    if (function.name == name) return function;
    names.push_back(function.name);
    if (parts.contains(function.name)) continue;
    whole = &function;
    ++count;
  }
  if (name.empty() && count == 1) return *whole;
  if (name.empty())
    TERN_THROW(ValueError) << "--entry is needed: the functions are "
                           << ffi::Escaped(ffi::Join(names));
  TERN_THROW(ValueError) << "there is no function " << name
                         << ffi::Escaped(ffi::DidYouMean(name, names) + "; the functions are " +
                                         ffi::Join(names));
  return meta.functions.front();
}

ffi::Function PreparingFunction(const ffi::Module& module, const runtime::ArtifactMeta& meta,
                                const runtime::FunctionInfo& info) {
  return ffi::Function::FromPacked(
      [=, prepared = ffi::Function()](ffi::Args args) mutable -> ffi::Any {
        if (!prepared) prepared = runtime::Prepare(module, meta, info, args);
        return prepared.CallPacked(args);
      });
}

runtime::Tensor FindTensor(const runtime::FunctionInfo& function, const runtime::RunResult& result,
                           const std::string& option, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < function.params.size(); ++i) {
    if (!function.params[i].is_tensor) continue;
    if (function.params[i].name == name) return result.args[i];
    names.push_back(function.params[i].name);
  }
  TERN_THROW(ValueError) << option << ": " << ffi::Escaped(function.name) << " has no tensor "
                         << name
                         << ffi::Escaped(ffi::DidYouMean(name, names) + "; it has " +
                                         ffi::Join(names));
  return {};
}

std::string SummaryLine(const runtime::FunctionInfo& function, const std::string& device,
                        const runtime::RunResult& result, bool sums) {
  std::ostringstream out;
  out << function.name << "  " << device << " ";
  for (const auto& [name, value] : result.dims) out << " " << name << "=" << value;
  out << (result.dims.empty() ? " " : "  ") << Duration(result.best_seconds);
  for (size_t i = 0; i < function.params.size(); ++i) {
    const runtime::ParamInfo& param = function.params[i];
    if (!param.is_output) continue;
    out << "  " << param.name << ": " << Shape(result.args[i]->shape()) << " " << param.dtype.str();
    if (sums) out << " sum=" << Sum(result.args[i]);
  }
  return ffi::Escaped(out.str());
}

std::string TimesLine(int calls, const runtime::RunResult& result) {
  std::string line = std::to_string(calls) + " calls: best " + Duration(result.best_seconds) +
                     ", median " + Duration(result.median_seconds);
  if (result.device_seconds) line += "; on the device: median " + Duration(*result.device_seconds);
  return line;
}

std::string ErrorLine(const std::string& name, const runtime::MaxError& error, double tolerance) {
  std::ostringstream out;
  out.precision(3);
  out << name << ": largest error " << error.absolute << " absolute, " << error.relative
      << " relative; " << (IsWithin(error, tolerance) ? "within " : "over ") << tolerance;
  return out.str();
}

}  // namespace tern::tools
