// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/metal/test/msl_program.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "tern/runtime/test_standin/compile.h"

namespace tern::backend::metal::standin {
namespace {

constexpr const char kShim[] = TERN_STANDIN_ROOT "/tern/backend/metal/test/shim";

std::string Headers() {
  using tern::standin::ReadAll;
  const std::string root = TERN_STANDIN_ROOT "/tern/";
  return ReadAll(std::string(kShim) + "/metal_stdlib") +
         ReadAll(std::string(kShim) + "/vector_constructors") +
         ReadAll(std::string(kShim) + "/simdgroup_matrix") +
         ReadAll(root + "backend/metal/test/kernel_glue.h") +
         ReadAll(root + "runtime/test_standin/device_abi.h") +
         ReadAll(root + "runtime/test_standin/access_hooks.h");
}

// Two files: the program in a language with address spaces, instrumented, and what calls it.
std::string Command(const MslOptions& options, const std::string& directory) {
  std::string math = options.fast_math ? " -ffast-math" : "";
  return std::string(TERN_STANDIN_CLANG " -x clcpp -cl-std=clc++ -cl-no-stdinc -nostdinc -I") +
         kShim + " -cl-single-precision-constant -O1 -fPIC -fsanitize=thread,alignment" +
         " -fno-sanitize-recover=alignment -fno-strict-aliasing -fwrapv -ffp-contract=fast -w" +
         math + " -fno-color-diagnostics -D__METAL_VERSION__=" + std::to_string(options.version) +
         " -c " + directory + "/program_source -o " + directory + "/program.o && " +
         TERN_STANDIN_CLANG
         " -x c++ -std=c++20 -O1 -fPIC -fvisibility=hidden -w -I" TERN_STANDIN_ROOT
         " -nostdinc -nostdinc++ -c " +
         directory + "/glue -o " + directory + "/glue.o && " +
         TERN_STANDIN_CLANG " -shared -nodefaultlibs " + directory + "/program.o " + directory +
         "/glue.o -o " + directory + "/unit.so -lm -lc -lgcc";
}

std::string CallOf(const MslKernel& kernel) {
  std::string types, values;
  int number = 0;
  for (const MslParam& param : kernel.params) {
    bool is_number = param.kind == MslParam::kNumber;
    types += (types.empty() ? "" : ", ") + (is_number ? param.type : "void*");
    values += values.empty() ? "" : ", ";
    if (is_number)
      values += "tern_glue::As<" + param.type + ">(tern_glue::" + param.attribute + "())";
    else if (param.kind == MslParam::kThreadgroup)
      values += "tern_glue::host.dynamic_shared()";
    else
      values += "args[" + std::to_string(number++) + "]";
  }
  return "extern \"C\" void " + kernel.name + "(" + types + ");\nstatic void tern_run_" +
         kernel.name + "(void** args) { " + kernel.name + "(" + values + "); }\n";
}

std::string GlueOf(const MslSource& source) {
  std::string text = "#include \"tern/backend/metal/test/kernel_glue.h\"\n", table;
  for (const MslKernel& kernel : source.kernels) {
    text += CallOf(kernel);
    table += "{\"" + kernel.name + "\", tern_run_" + kernel.name + ", nullptr, 0, " +
             std::to_string(kernel.max_threads) + ", nullptr, nullptr},\n";
  }
  return text + "static const tern_standin::Kernel kernels[] = {" + table +
         "{}};\nextern \"C\" __attribute__((visibility(\"default\"))) const tern_standin::Module "
         "tern_standin_module;\nconst tern_standin::Module tern_standin_module = "
         "{tern_standin::kVersion, \"metal\", \"threadgroup_barrier\", kernels, " +
         std::to_string(source.kernels.size()) + ", &tern_standin::state, &tern_standin::host};\n";
}

template <class T>
std::vector<T> Entries(const std::string& code, const Elf64_Shdr& section) {
  std::vector<T> entries(section.sh_size / sizeof(T));
  std::memcpy(entries.data(), code.data() + section.sh_offset, entries.size() * sizeof(T));
  return entries;
}

// The threadgroup memory of a kernel: what clang made of variables of its function.
void FindShared(const std::string& code, const tern::standin::Image& image,
                tern_standin::Kernel* kernel) {
  Elf64_Ehdr header;
  std::memcpy(&header, code.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), code.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::string name = kernel->name;
  std::string prefix = "_ZZ" + std::to_string(name.size()) + name + "E";
  uint64_t begin = ~uint64_t{0}, end = 0;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* names = code.data() + sections[section.sh_link].sh_offset;
    for (const auto& symbol : Entries<Elf64_Sym>(code, section)) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT ||
          std::strncmp(names + symbol.st_name, prefix.c_str(), prefix.size()) != 0)
        continue;
      begin = std::min<uint64_t>(begin, symbol.st_value);
      end = std::max<uint64_t>(end, symbol.st_value + symbol.st_size);
    }
  }
  if (begin >= end) return;
  kernel->shared_begin = const_cast<char*>(image.begin()) + begin;
  kernel->shared_end = const_cast<char*>(image.begin()) + end;
}

}  // namespace

std::shared_ptr<MslProgram> CompileMsl(const std::string& source, const MslOptions& options,
                                       std::string* log) {
  MslSource read = ReadMsl(source);
  if (!read.errors.empty()) {
    *log = read.errors;
    return nullptr;
  }
  static const std::string headers = Headers();
  std::string code = tern::standin::Compile(
      {.files = {{"program_source", read.text}, {"glue", GlueOf(read)}},
       .command = [&](const std::string& directory) { return Command(options, directory); },
       .depends_on = headers},
      log);
  if (code.empty()) return nullptr;
  auto program = std::make_shared<MslProgram>();
  program->image = tern::standin::Image::Open(code, log);
  if (!program->image) return nullptr;
  for (int i = 0; i < program->image->info()->num_kernels; ++i) {
    tern_standin::Kernel kernel = program->image->info()->kernels[i];
    FindShared(code, *program->image, &kernel);
    program->kernels[kernel.name] = {read.kernels[static_cast<size_t>(i)], kernel};
  }
  return program;
}

}  // namespace tern::backend::metal::standin
