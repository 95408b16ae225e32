// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for NVRTC: CUDA C++ compiled by the machine's C++ compiler to a shared object, which
// the stand-in driver loads.
#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <vector>

#include "tern/backend/cuda/common/nvrtc_abi.h"
#include "tern/backend/cuda/test/ptx_text.h"
#include "tern/backend/cuda/test/source_rewriter.h"
#include "tern/runtime/test_standin/compile.h"

using namespace tern::backend::cuda;
using namespace tern::backend::cuda::standin;
using tern::standin::ReadAll;

namespace {

enum NvrtcCode { kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6 };
constexpr size_t kMaxStaticShared = 49152;

struct Program {
  std::string source, name, log, arch, code;
  bool is_compiled = false;
};

std::mutex mutex;
std::set<Program*> programs;
int num_compiled = 0;

std::string HeaderPath(const char* name) { return std::string(TERN_STANDIN_ROOT "/tern/") + name; }

// The language that programs are compiled with.
const std::string& Headers() {
  static const std::string text = ReadAll(HeaderPath("runtime/test_standin/device_abi.h")) +
                                  ReadAll(HeaderPath("runtime/test_standin/access_hooks.h")) +
                                  ReadAll(HeaderPath("backend/cuda/test/cuda_language.h")) +
                                  ReadAll(HeaderPath("backend/cuda/test/ptx.h")) +
                                  ReadAll(HeaderPath("backend/cuda/test/wgmma.h")) +
                                  ReadAll(HeaderPath("backend/cuda/test/bulk.h"));
  return text;
}

// The functions of ptx.h and what is part of it; those that macros make are named by their
// instances.
std::set<std::string> Instructions() {
  std::set<std::string> names;
  const std::string text = ReadAll(HeaderPath("backend/cuda/test/ptx.h")) +
                           ReadAll(HeaderPath("backend/cuda/test/wgmma.h")) +
                           ReadAll(HeaderPath("backend/cuda/test/bulk.h"));
  static const std::regex plain("__ptx_[a-z0-9_]+"), matrix("TERN_LDMATRIX\\((_[a-z0-9_]+)"),
      mma("TERN_MMA\\(([a-z0-9_]+)"), wgmma("TERN_WGMMAS\\((k[0-9]+), ([a-z0-9_]+), [0-9]"),
      narrow_wgmma("TERN_NARROW_WGMMAS\\((k[0-9]+), ([a-z0-9_]+), [0-9]");
  auto all = [&](const std::regex& pattern, const auto& add) {
    for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) add(*it);
  };
  all(plain, [&](const std::smatch& match) { names.insert(match.str()); });
  all(matrix, [&](const std::smatch& match) {
    for (const char* count : {"x1", "x2", "x4"})
      names.insert(std::string("__ptx_ldmatrix_sync_aligned_m8n8_") + count + match[1].str());
  });
  all(mma, [&](const std::smatch& match) {
    names.insert("__ptx_mma_sync_aligned_m16n8k16_row_col_" + match[1].str());
  });
  auto add_shapes = [&](const std::smatch& match, const std::vector<const char*>& shapes) {
    for (const char* shape : shapes)
      names.insert(std::string("__ptx_wgmma_mma_async_sync_aligned_") + shape + match[1].str() +
                   "_" + match[2].str());
  };
  all(wgmma, [&](const std::smatch& match) {
    add_shapes(match, {"m64n64", "m64n128", "m64n192", "m64n256"});
  });
  all(narrow_wgmma,
      [&](const std::smatch& match) { add_shapes(match, {"m64n8", "m64n16", "m64n32"}); });
  return names;
}

struct Options {
  std::string arch = "compute_75", standard = "c++17";
  bool fuses = true;
};

bool ReadOption(const std::string& text, Options* options) {
  static const std::regex arch("(?:--gpu-architecture|-arch)=((?:sm|compute)_[0-9]{2,3}[af]?)"),
      standard("(?:--std|-std)=(c\\+\\+(?:17|20))"), fmad("(?:--fmad|-fmad)=(true|false)"),
      ignored("-default-device|--device-as-default-execution-space|--use_fast_math=false");
  std::smatch match;
  if (std::regex_match(text, match, arch))
    options->arch = match[1].str();
  else if (std::regex_match(text, match, standard))
    options->standard = match[1].str();
  else if (std::regex_match(text, match, fmad))
    options->fuses = match[1].str() == "true";
  else
    return std::regex_match(text, ignored);
  return true;
}

// What the compiler gets: the rewritten source, and the table of its kernels.
std::string Unit(const Rewritten& program, const std::string& name, const std::string& arch) {
  std::string text = "#line 1 \"" + name + "\"\n" + program.text + "\n", table;
  for (const KernelHead& kernel : program.kernels) {
    text += "TERN_SHARED_BOUNDS(" + kernel.name + ")\n";
    table += "TERN_KERNEL(" + kernel.name + ", " + kernel.max_threads + "),\n";
  }
  return text + "static const tern_standin::Kernel tern_standin_kernels[] = {" + table +
         "{}};\nextern \"C\" __attribute__((visibility(\"default\"))) const tern_standin::Module "
         "tern_standin_module;\n"
         "const tern_standin::Module tern_standin_module = {tern_standin::kVersion, \"" +
         arch + "\", \"__syncthreads\", tern_standin_kernels, " +
         std::to_string(program.kernels.size()) + ", &tern_standin::state, &tern_standin::host};\n";
}

// 900 for sm_90a.
std::string ArchitectureMacro(const std::string& arch) {
  size_t start = arch.find('_') + 1;
  return arch.substr(start, arch.find_first_not_of("0123456789", start) - start) + "0";
}

std::string CompileCommand(const Options& options, const std::string& directory) {
  return std::string(TERN_STANDIN_CXX
                     " -x c++ -O1 -fPIC -shared -nostdinc -nostdinc++ -nodefaultlibs "
                     "-fsanitize=thread,alignment -fno-sanitize-recover=alignment "
                     "-fvisibility=hidden -fno-exceptions -fno-rtti "
                     "-fno-strict-aliasing -fwrapv -w -Wno-psabi -I" TERN_STANDIN_ROOT
                     " -include tern/backend/cuda/test/ptx.h -ffp-contract=") +
         (options.fuses ? "fast" : "off") + " -D__CUDA_ARCH__=" + ArchitectureMacro(options.arch) +
         " -DTERN_STANDIN_SM_90A=" + (options.arch.ends_with("_90a") ? "1" : "0") +
         " -std=" + options.standard + " " + directory + "/unit.cc -o " + directory +
         "/unit.so -lm -lc -lgcc";
}

std::string CompileOnce(const std::string& unit, const Options& options, std::string* log) {
  return tern::standin::Compile(
      {.files = {{"unit.cc", unit}},
       .command = [&](const std::string& directory) { return CompileCommand(options, directory); },
       .depends_on = Headers()},
      log);
}

// Each kernel's shared memory is a section of its own.
std::string CheckShared(const std::string& code) {
  constexpr std::string_view kPrefix = "tern_shared_";
  Elf64_Ehdr header;
  std::memcpy(&header, code.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), code.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    std::string_view name = code.data() + sections[header.e_shstrndx].sh_offset + section.sh_name;
    if (name.starts_with(kPrefix) && section.sh_size > kMaxStaticShared)
      return "ptxas error   : Entry function '" + std::string(name.substr(kPrefix.size())) +
             "' uses too much shared data (" + std::to_string(section.sh_size) + " bytes, " +
             std::to_string(kMaxStaticShared) + " max)\n";
  }
  return "";
}

int Compile(Program& program, const Options& options) {
  static const std::set<std::string> instructions = Instructions();
  Rewritten rewritten = Rewrite(program.source, program.name, instructions);
  program.arch = options.arch;
  if (!rewritten.errors.empty()) {
    program.log = rewritten.errors;
    return kCompilation;
  }
  program.code = CompileOnce(Unit(rewritten, program.name, options.arch), options, &program.log);
  if (!program.code.empty()) program.log += CheckShared(program.code);
  program.is_compiled = !program.code.empty() && program.log.empty();
  return program.is_compiled ? 0 : int{kCompilation};
}

int With(nvrtc::Program handle, int (*body)(Program&, void*), void* data) {
  std::lock_guard lock(mutex);
  auto* program = reinterpret_cast<Program*>(handle);
  if (programs.contains(program)) return body(*program, data);
  std::fprintf(stderr, "stand-in nvrtc: the program is not one, or was destroyed\n");
  return kInvalidProgram;
}

template <class Body>
int With(nvrtc::Program handle, Body body) {
  return With(
      handle, [](Program& program, void* data) { return (*static_cast<Body*>(data))(program); },
      &body);
}

std::string PtxOf(const Program& program) { return PtxOfCode(program.code); }

}  // namespace

#define TERN_NVRTC_API extern "C" __attribute__((visibility("default"))) int

// For tests: how many programs were given to be compiled.
TERN_NVRTC_API tern_standin_compiled() { return num_compiled; }

TERN_NVRTC_API nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

TERN_NVRTC_API nvrtcCreateProgram(nvrtc::Program* out, const char* source, const char* name,
                                  int num_headers, const char* const*, const char* const*) {
  if (!out || !source || num_headers != 0) return kInvalidInput;
  std::lock_guard lock(mutex);
  auto* program = new Program{source, name ? name : "default_program"};
  programs.insert(program);
  *out = reinterpret_cast<nvrtc::Program>(program);
  return 0;
}

TERN_NVRTC_API nvrtcDestroyProgram(nvrtc::Program* handle) {
  int code = With(*handle, [](Program& program) {
    programs.erase(&program);
    delete &program;
    return 0;
  });
  *handle = nullptr;
  return code;
}

TERN_NVRTC_API nvrtcCompileProgram(nvrtc::Program handle, int count, const char* const* texts) {
  return With(handle, [&](Program& program) {
    ++num_compiled;
    Options options;
    for (int i = 0; i < count; ++i)
      if (!ReadOption(texts[i], &options)) {
        program.log = std::string("nvrtc: error: invalid value or option: ") + texts[i] + "\n";
        return int{kInvalidOption};
      }
    return Compile(program, options);
  });
}

TERN_NVRTC_API nvrtcGetProgramLogSize(nvrtc::Program handle, size_t* size) {
  return With(handle, [&](Program& program) { return *size = program.log.size() + 1, 0; });
}

TERN_NVRTC_API nvrtcGetProgramLog(nvrtc::Program handle, char* log) {
  return With(handle, [&](Program& program) {
    std::copy_n(program.log.c_str(), program.log.size() + 1, log);
    return 0;
  });
}

// There is machine code for real architectures alone.
TERN_NVRTC_API nvrtcGetCUBINSize(nvrtc::Program handle, size_t* size) {
  return With(handle, [&](Program& program) {
    if (!program.is_compiled) return int{kInvalidProgram};
    return *size = program.arch.starts_with("sm_") ? program.code.size() : 0, 0;
  });
}

TERN_NVRTC_API nvrtcGetCUBIN(nvrtc::Program handle, char* code) {
  return With(handle, [&](Program& program) {
    if (!program.is_compiled || !program.arch.starts_with("sm_")) return int{kInvalidProgram};
    std::copy_n(program.code.data(), program.code.size(), code);
    return 0;
  });
}

TERN_NVRTC_API nvrtcGetPTXSize(nvrtc::Program handle, size_t* size) {
  return With(handle, [&](Program& program) {
    return program.is_compiled ? (*size = PtxOf(program).size() + 1, 0) : int{kInvalidProgram};
  });
}

TERN_NVRTC_API nvrtcGetPTX(nvrtc::Program handle, char* text) {
  return With(handle, [&](Program& program) {
    if (!program.is_compiled) return int{kInvalidProgram};
    std::string ptx = PtxOf(program);
    std::copy_n(ptx.c_str(), ptx.size() + 1, text);
    return 0;
  });
}
