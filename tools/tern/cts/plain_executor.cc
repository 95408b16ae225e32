// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "tern/codegen/linkable_module.h"
#include "tern/codegen/temporary_directory.h"
#include "tern/ffi/dtype.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tools/tern/cts/executor.h"
#include "tools/tern/cts/worker.h"

namespace tern::tools {
namespace {

constexpr uint64_t kAlignment = 64;  // of tensors
constexpr const char* kFlags = "-std=c99 -pedantic -Wall -Wextra -Werror -O2";

// The program around the functions, a worker: for each call it reads the memory of the tensors,
// calls, and writes the memory. Memory of a call has the same place in both files.
constexpr const char* kMain = R"(
int main(void) {{
  FILE* in = fopen("inputs.bin", "rb");
  FILE* out = fopen("outputs.bin", "r+b");
  FILE* start = fopen("first.txt", "r");
  unsigned long first = 0;
  if (!in || !out || !start || fscanf(start, "%lu", &first) != 1) return 2;
  for (unsigned long i = first; i < sizeof(calls) / sizeof(*calls); ++i) {{
    printf("call %lu begins\n", i - first + 1);
    fflush(stdout);
    if (fseek(in, calls[i].place, SEEK_SET) != 0 || fread(memory, 1, calls[i].bytes, in) != calls[i].bytes) return 3;
    int32_t status = calls[i].call();
    if (fseek(out, calls[i].place, SEEK_SET) != 0 || fwrite(memory, 1, calls[i].bytes, out) != calls[i].bytes || fflush(out) != 0)
      return 4;
    if (status != 0)
      printf("call %lu failed: the function returned %ld\n", i - first + 1, (long)status);
    else
      printf("call %lu ok\n", i - first + 1);
    fflush(stdout);
  }}
  return fclose(out) == 0 ? 0 : 4;
}}
)";

// The arguments of a call, and where its tensors lie in the memory.
struct Prepared {
  std::vector<runtime::Tensor> tensors;  // by parameter; null for a scalar
  std::vector<uint64_t> places;
  uint64_t bytes = 0;
  std::string expression;  // the call in C
};

std::string ScalarText(DataType dtype, const ffi::Any& value) {
  if (dtype.is_bool()) return value.As<int64_t>() ? "true" : "false";
  if (dtype.is_integer()) {
    auto number = value.As<int64_t>();
    return dtype.is_uint() ? fmt::format("{}ULL", static_cast<uint64_t>(number))
                           : fmt::format("{}LL", number);
  }
  TERN_CHECK(dtype.is_float()) << "a " << dtype.str() << " cannot be passed";
  auto number = value.As<double>();
  if (dtype.is_narrow_float())
    return std::to_string(NarrowFloat(dtype, static_cast<float>(number)));
  return fmt::format("{:a}", dtype.bits() == 32 ? static_cast<float>(number) : number);
}

// The names of the parameters behind the first `count`: "int32_t f(float* A, int64_t n);" -> n
std::vector<std::string> NamesBehind(const std::string& declaration, size_t count) {
  size_t begin = declaration.find('(') + 1;
  std::istringstream params(declaration.substr(begin, declaration.rfind(')') - begin));
  std::vector<std::string> names;
  for (std::string param; std::getline(params, param, ',');)
    names.push_back(param.substr(param.rfind(' ') + 1));
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count));
  return names;
}

class PlainExecutor : public Executor {
 public:
  PlainExecutor(const std::string& compiler, const std::string& emulator, int timeout)
      : compiler_(compiler.empty() ? "cc" : compiler), emulator_(emulator), timeout_(timeout) {}

  size_t Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) override {
    const auto* module = dynamic_cast<const codegen::LinkableModule*>(compiled.get());
    TERN_CHECK(module && !module->is_packed())
        << "a module of kind " << compiled->kind() << " has no plain functions";
    programs_.push_back({compiled, module, {}});
    for (const runtime::FunctionInfo& function : meta.functions)
      programs_.back().names.push_back(function.name);
    return programs_.size() - 1;
  }

  std::vector<Outcome> Run(const std::vector<Call>& calls) override {
    std::vector<Prepared> prepared;
    for (const Call& call : calls) prepared.push_back(Prepare(call));
    codegen::TemporaryDirectory directory;
    Build(prepared, directory);
    std::string inputs;
    for (const Prepared& call : prepared) inputs += MemoryBefore(call);
    runtime::WriteFile(directory.File("inputs.bin"), inputs);
    runtime::WriteFile(directory.File("outputs.bin"), inputs);
    auto command = [&](size_t first) -> std::vector<std::string> {
      runtime::WriteFile(directory.File("first.txt"), std::to_string(first));
      return {"/bin/sh", "-c",
              "cd '" + directory.path() + "' && exec " +
                  (emulator_.empty() ? "./program" : emulator_ + " program") + " 2>&1 </dev/null"};
    };
    std::vector<CallReport> reports = RunCalls({"the program", command, timeout_}, calls.size());
    return ReadOutcomes(calls, prepared, reports, runtime::ReadFile(directory.File("outputs.bin")));
  }

 private:
  struct Program {
    ffi::Module module;  // keeps `code`
    const codegen::LinkableModule* code;
    std::vector<std::string> names;
  };

  // Functions of different programs may have one name.
  static std::string UniqueName(size_t program, const std::string& function) {
    return fmt::format("program{}_{}", program, function);
  }

  Prepared Prepare(const Call& call) const {
    const runtime::FunctionInfo& function = *call.function;
    Prepared prepared;
    std::map<std::string, int64_t> dims;
    std::vector<ffi::Any> args = runtime::MakeArguments(function, *call.options, &dims);
    std::string text;
    for (size_t i = 0; i < args.size(); ++i) {
      auto tensor = args[i].TryAs<runtime::Tensor>();
      prepared.tensors.push_back(tensor.value_or(runtime::Tensor()));
      prepared.places.push_back(prepared.bytes);
      text += text.empty() ? "" : ", ";
      if (!tensor) {
        text += ScalarText(function.params[i].dtype, args[i]);
        continue;
      }
      text += fmt::format("(void*)(memory + {})", prepared.bytes + (*tensor)->view().byte_offset);
      prepared.bytes += (StorageBytes(*tensor) + kAlignment - 1) / kAlignment * kAlignment;
    }
    std::string declaration = programs_[call.program].code->DeclarationOf(function.name);
    for (const std::string& name : NamesBehind(declaration, args.size())) {
      TERN_CHECK(dims.contains(name)) << function.name << ": no value is known for " << name;
      text += fmt::format("{}{}LL", text.empty() ? "" : ", ", dims.at(name));
    }
    prepared.expression = UniqueName(call.program, function.name) + "(" + text + ")";
    return prepared;
  }

  static uint64_t StorageBytes(const runtime::Tensor& tensor) { return tensor->storage_bytes(); }

  static std::string MemoryBefore(const Prepared& call) {
    std::string memory(call.bytes, '\0');
    for (size_t i = 0; i < call.tensors.size(); ++i)
      if (call.tensors[i] && StorageBytes(call.tensors[i]) > 0)
        std::memcpy(memory.data() + call.places[i], call.tensors[i]->data(),
                    StorageBytes(call.tensors[i]));
    return memory;
  }

  void Build(const std::vector<Prepared>& calls, const codegen::TemporaryDirectory& directory) {
    std::string command = compiler_ + " " + kFlags + " main.c";
    std::string text = "#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n\n";
    for (size_t i = 0; i < programs_.size(); ++i) {
      std::string renamed, restored;
      for (const std::string& name : programs_[i].names) {
        renamed += fmt::format("#define {} {}\n", name, UniqueName(i, name));
        restored += fmt::format("#undef {}\n", name);
      }
      text += renamed;
      for (const std::string& name : programs_[i].names)
        text += programs_[i].code->DeclarationOf(name) + "\n";
      text += restored;
      std::string file = fmt::format("program{}.c", i);
      runtime::WriteFile(directory.File(file), renamed + programs_[i].code->MakeFile(".c"));
      command += " " + file;
    }
    runtime::WriteFile(directory.File("main.c"), text + CallTable(calls) + fmt::format(kMain));
    if (Shell(directory, command + " -o program", "build.log") != 0)
      TERN_THROW(RuntimeError) << "the C compiler failed: " << command << "\n"
                               << runtime::ReadFile(directory.File("build.log"));
  }

  static std::string CallTable(const std::vector<Prepared>& calls) {
    uint64_t bytes = kAlignment, place = 0;
    std::string functions, table;
    for (size_t i = 0; i < calls.size(); ++i) {
      bytes = std::max(bytes, calls[i].bytes);
      functions +=
          fmt::format("static int32_t Call{}(void) {{ return {}; }}\n", i, calls[i].expression);
      table += fmt::format("  {{Call{}, {}, {}}},\n", i, calls[i].bytes, place);
      place += calls[i].bytes;
    }
    return fmt::format(
        "\nstatic uint8_t memory[{}] __attribute__((aligned({})));\n\n{}\n"
        "static const struct {{\n  int32_t (*call)(void);\n  size_t bytes;\n  long place;\n}} "
        "calls[] = "
        "{{\n{}}};\n",
        bytes, kAlignment, functions, table);
  }

  // The exit status of a command that runs in the directory.
  static int Shell(const codegen::TemporaryDirectory& directory, const std::string& command,
                   const std::string& log) {
    std::string line =
        "cd '" + directory.path() + "' && " + command + " >" + log + " 2>&1 </dev/null";
    return std::system(line.c_str());  // NOLINT(bugprone-command-processor)
  }

  static std::vector<Outcome> ReadOutcomes(const std::vector<Call>& calls,
                                           const std::vector<Prepared>& prepared,
                                           const std::vector<CallReport>& reports,
                                           const std::string& output) {
    std::vector<Outcome> outcomes;
    uint64_t place = 0;
    for (size_t i = 0; i < calls.size(); place += prepared[i++].bytes) {
      Outcome& outcome = outcomes.emplace_back();
      outcome.error = reports[i].error;
      if (!outcome.error.empty()) continue;
      TERN_CHECK(output.size() - place >= prepared[i].bytes) << "the program shortened its results";
      for (size_t k = 0; k < prepared[i].tensors.size(); ++k) {
        runtime::Tensor tensor = prepared[i].tensors[k];
        if (tensor && StorageBytes(tensor) > 0)
          std::memcpy(tensor->data(), output.data() + place + prepared[i].places[k],
                      StorageBytes(tensor));
        if (tensor && !runtime::KeptUnused(tensor))
          outcome.error = "memory before or between the elements of " +
                          calls[i].function->params[k].name + " was changed";
        outcome.args.push_back(tensor);
      }
    }
    return outcomes;
  }

  std::string compiler_, emulator_;
  int timeout_;
  std::vector<Program> programs_;
};

}  // namespace

std::unique_ptr<Executor> MakePlainExecutor(const std::string& compiler,
                                            const std::string& emulator, int timeout) {
  return std::make_unique<PlainExecutor>(compiler, emulator, timeout);
}

}  // namespace tern::tools
