// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_module.h"

#include "tern/backend/cpu/codegen/c_compiler.h"
#include "tern/backend/cpu/codegen/c_plain.h"
#include "tern/backend/cpu/codegen/ffi_host.h"
#include "tern/ffi/registry.h"
#include "tern/target/target.h"
#include "tern/tir/intrinsic_rules.h"

namespace tern::backend::cpu {

ffi::Function CSourceModule::GetFunction(std::string_view name) {
  if (!source_.prototypes.contains(std::string(name))) return {};
  TERN_THROW(RuntimeError) << name
                           << ": c source is not runnable as it is: export it or use tern run";
}

std::vector<std::string> CSourceModule::FunctionNames() const {
  std::vector<std::string> names;
  for (const auto& [name, prototype] : source_.prototypes) names.push_back(name);
  return names;
}

std::string CSourceModule::InspectSource(std::string_view format) const {
  if (format.empty() || format == "c") return source_.text;
  return LinkableModule::InspectSource(format);
}

std::string CSourceModule::Text() const {
  constexpr size_t kBytesOfLine = 32;
  std::string text = source_.text;
  for (const auto& [symbol, bytes] : data()) {
    text += "\nstatic const uint8_t " + symbol + "[" + std::to_string(bytes.size()) +
            "] __attribute__((aligned(64))) = {";
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (i % kBytesOfLine == 0) text += "\n";
      text += std::to_string(static_cast<unsigned char>(bytes[i])) + ",";
    }
    text += "\n};\n";
  }
  return text;
}

std::string CSourceModule::triple() const { return CCompiler(compiler_).Triple(); }

std::string CSourceModule::LinkSharedObject(std::string_view section) const {
  TERN_CHECK(is_packed_)
      << "plain functions are not for the runtime: it calls those of -api=packed";
  codegen::CheckExternCalls(extern_calls_);
  return CCompiler(compiler_).MakeSharedObject({Text(), WriteFfiHostC(FunctionNames())}, section);
}

std::vector<codegen::FileFormat> CSourceModule::FileFormats() const {
  return {{".o", "a relocatable object"}, {".c", "C source, with a header beside it"}};
}

std::string CSourceModule::MakeFile(std::string_view ending) const {
  if (ending == ".c") return Text();
  TERN_ICHECK(ending == ".o") << ending;
  return CCompiler(compiler_).MakeObject(Text(), /*is_shared=*/is_packed_);
}

std::string CSourceModule::SymbolOf(const std::string& function) const {
  return is_packed_ ? LinkableModule::SymbolOf(function) : function;
}

std::string CSourceModule::DeclarationOf(const std::string& function) const {
  return source_.prototypes.at(function);
}

std::string CSourceModule::HeaderStart() const {
  if (is_packed_) return LinkableModule::HeaderStart();
  std::string text =
      "// Tensors are row major, unless they have strides, and one that is written overlaps no "
      "other,\n"
      "// unless the function may_alias. A function returns 0, or -1 where one of its asserts "
      "fails.\n";
  if (source_.static_bytes > 0)
    text += "// The functions share temporary memory: no two calls at the same time.\n";
  return text;
}

namespace {

ffi::Module BuildC(const ir::IRModule& module, const target::Target& target) {
  bool is_plain = target::HasPlainApi(target);
  return ffi::Module(ffi::Make<CSourceModule>(is_plain ? WritePlainC(module) : WriteC(module),
                                              target->GetString("cc", ""), !is_plain,
                                              codegen::FindExternCalls(module)));
}

}  // namespace

void RegisterC() {
  target::TargetKind kind;
  kind.name = "c";
  kind.role = target::Role::kHost;
  kind.description =
      "C99 source for any CPU, compiled by the system's C compiler where it has to run";
  kind.module_kind = "c";
  kind.device = "cpu";
  kind.host_rank = 1;
  kind.vectors = false;
  kind.attrs["cc"] = {
      .type = target::AttrSpec::Type::kString,
      .help = "the C compiler, a program with its first arguments; default: $CC, cc, gcc or clang"};
  kind.attrs["api"] = {
      .type = target::AttrSpec::Type::kString,
      .default_value = "packed",
      .help =
          "packed: functions for the runtime; plain: prototypes with pointers and numbers, "
          "which need no runtime, no library and no heap",
      .check = [](const ffi::Any& value) {
        auto api = value.As<std::string>();
        TERN_CHECK(api == "packed" || api == "plain")
            << "expected packed or plain, got '" << api << "'";
      }};
  target::AddMachineAttrs(&kind);
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("c", {"sqrt"}, tir::IsWideFloat);
  // Functions of a library that a plain function may not have.
  tir::KeepIntrinsics("c", {"copysign", "abs"}, [](DataType dtype) {
    return tir::IsWideFloat(dtype) && !target::HasPlainApi(target::CurrentTarget());
  });
  ffi::RegisterGlobal("target.build.c", ffi::Function::FromTyped("target.build.c", BuildC));
  // What machine it is, its compiler knows.
  ffi::RegisterGlobal("target.detect.c", ffi::Function::FromTyped("target.detect.c", [](int64_t) {
                        return ffi::MakeMap();
                      }));
}

}  // namespace tern::backend::cpu
