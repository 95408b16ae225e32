// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/kernel_parser.h"

namespace tern::tir {
namespace {

// A thread axis, or shared.dynamic: how many bytes of it there are.
std::string ParseLaunchTag(SignatureParser& parser) {
  return parser.Is(StorageScopeName(StorageScope::kSharedDynamic)) ? parser.Next().text
                                                                   : parser.ParseThreadAxis(false);
}

std::vector<bool> ParseWrites(SignatureParser& parser, const std::vector<Param>& params) {
  std::vector<bool> writes(params.size());
  Span span = parser.Peek().span;
  parser.Expect("writes");
  parser.Expect("(");
  parser.CommaList(")", [&] {
    auto is_named = [&](const Param& param) {
      return param.is_tensor() && param.name() == parser.Peek().text;
    };
    auto it = std::find_if(params.begin(), params.end(), is_named);
    if (it == params.end()) parser.Unexpected("a tensor of the kernel's parameters");
    writes[it - params.begin()] = true;
    parser.Next();
  });
  if (std::find(writes.begin(), writes.end(), true) == writes.end())
    parser.Fail(span, "a kernel writes to one of its tensors at least");
  return writes;
}

}  // namespace

ExternKernel ParseKernel(SignatureParser& parser, const SourceFiles& files) {
  auto kernel = ffi::Make<ExternKernelNode>();
  kernel->span = parser.Next().span;
  kernel->name = parser.ExpectFunctionName("a kernel's name");
  parser.ForgetSymbols();
  kernel->params = parser.ParseParams().params;
  parser.Expect("launch");
  parser.Expect("(");
  parser.CommaList(")", [&] {
    Span span = parser.Peek().span;
    std::string axis = ParseLaunchTag(parser);
    for (const std::string& other : kernel->launch_tags)
      if (other == axis) parser.Fail(span, "axis " + axis + " is given twice");
    kernel->launch_tags.push_back(axis);
  });
  kernel->writes = ParseWrites(parser, kernel->params);
  parser.Expect("from");
  kernel->kind = parser.ExpectString("the kind of device that the code is for, as a string");
  parser.Expect("format");
  kernel->format = parser.ExpectString("the format of the code, as a string");
  parser.Expect("{");
  if (parser.Accept("file")) {
    Span span = parser.Peek().span;
    kernel->file = parser.ExpectString("the name of a file, as a string");
    std::optional<std::filesystem::path> directory = files.DirectoryOf(span);
    if (!directory) parser.Fail(span, "a text that is no file names a file of code");
    kernel->code = parser.Located(span, [&] { return ReadRegularFile(*directory / kernel->file); });
  } else {
    kernel->code = parser.ExpectString("the kernel's code, as a string, or file and its name");
  }
  parser.Expect("}");
  return kernel;
}

}  // namespace tern::tir
