// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/metal/test/msl_source.h"

#include <algorithm>
#include <regex>
#include <set>

namespace tern::backend::metal::standin {
namespace {

constexpr unsigned kMaxBuffers = 31;

// Comments become spaces, so that lines and columns stay.
std::string WithoutComments(std::string text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '/' || (text[i + 1] != '/' && text[i + 1] != '*')) continue;
    bool is_line = text[i + 1] == '/';
    size_t end = is_line ? text.find('\n', i) : text.find("*/", i + 2);
    end = end == std::string::npos ? text.size() : is_line ? end : end + 2;
    for (; i < end; ++i)
      if (text[i] != '\n') text[i] = ' ';
  }
  return text;
}

class Reader {
 public:
  explicit Reader(const std::string& source) { result_.text = WithoutComments(source); }

  MslSource Run() {
    CheckPointers();
    ReadPragmas();
    ReadKernels();
    return std::move(result_);
  }

 private:
  void Error(size_t at, const std::string& what) {
    auto line =
        1 + std::count(result_.text.begin(), result_.text.begin() + static_cast<long>(at), '\n');
    result_.errors += "program_source:" + std::to_string(line) + ": error: " + what + "\n";
  }

  // Clang has a default for pointers, Metal has none.
  void CheckPointers() {
    static const std::regex pointer(
        "((?:device|threadgroup|thread|constant)\\s+)?(?:const\\s+)?\\b(?:(?:packed_)?(?:bool|u?"
        "char|"
        "u?short|u?int|u?long|half|bfloat|float)[234]?|void|tern_\\w+)\\s*(?:const\\s*)?\\*(?=\\s*["
        "\\w)])");
    const std::string& text = result_.text;
    for (std::sregex_iterator it(text.begin(), text.end(), pointer), end; it != end; ++it)
      if (!(*it)[1].matched)
        Error(static_cast<size_t>(it->position()),
              "pointer type must have explicit address space qualifier");
  }

  void ReadPragmas() {
    static const std::regex contract("#pragma METAL fp contract\\(off\\)");
    result_.text = std::regex_replace(result_.text, contract, "#pragma clang fp contract(off)");
  }

  void ReadKernels() {
    static const std::regex head(
        "(\\[\\[\\s*max_total_threads_per_threadgroup\\((\\d+)\\)\\s*\\]\\]\\s*)?kernel\\s+void\\s+"
        "(\\w+)"
        "\\s*\\(");
    std::smatch match;
    size_t from = 0;
    for (;;) {
      auto start = result_.text.cbegin() + static_cast<long>(from);
      if (!std::regex_search(start, result_.text.cend(), match, head)) return;
      MslKernel kernel{.name = match[3].str()};
      if (match[2].matched) kernel.max_threads = std::stoi(match[2].str());
      size_t at = from + static_cast<size_t>(match.position());
      size_t open = at + static_cast<size_t>(match.length());
      if (match[1].matched) Blank(at, at + static_cast<size_t>(match[1].length()));
      from = ReadParams(open, &kernel);
      result_.kernels.push_back(std::move(kernel));
    }
  }

  void Blank(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      if (result_.text[i] != '\n') result_.text[i] = ' ';
  }

  // From behind the parenthesis; returns where the list ends.
  size_t ReadParams(size_t open, MslKernel* kernel) {
    std::set<unsigned> taken;
    size_t begin = open, at = open;
    for (int depth = 0; at < result_.text.size(); ++at) {
      char c = result_.text[at];
      bool is_end = depth == 0 && (c == ')' || c == ',');
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (!is_end) continue;
      ReadParam(begin, at, kernel, &taken);
      begin = at + 1;
      if (c == ')') break;
    }
    return at;
  }

  void ReadParam(size_t begin, size_t end, MslKernel* kernel, std::set<unsigned>* taken) {
    static const std::regex attributed(
        "\\s*([^\\[]*?)\\s*\\[\\[\\s*(\\w+)\\s*(?:\\(\\s*(\\d+)\\s*\\))?\\s*\\]\\]\\s*");
    std::string text = result_.text.substr(begin, end - begin);
    if (text.find_first_not_of(" \n") == std::string::npos) return;
    std::smatch match;
    if (!std::regex_match(text, match, attributed))
      return Error(begin, "invalid parameter of kernel function '" + kernel->name +
                              "': it has no attribute: " + text);
    MslParam param{.text = match[1].str()};
    std::string attribute = match[2].str();
    if (match[3].matched) param.index = static_cast<unsigned>(std::stoul(match[3].str()));
    if (attribute == "buffer")
      param.kind = MslParam::kBuffer;
    else if (attribute == "threadgroup")
      param.kind = MslParam::kThreadgroup;
    else
      param.kind = MslParam::kNumber;
    CheckParam(begin, &param, attribute, taken);
    Blank(begin + static_cast<size_t>(match.position(2)) - 2, end);
    kernel->params.push_back(std::move(param));
  }

  void CheckParam(size_t at, MslParam* param, const std::string& attribute,
                  std::set<unsigned>* taken) {
    static const std::regex memory("(device|constant)\\b.*[*&].*"), shared("threadgroup\\b.*\\*.*"),
        number("(uint[23]?)\\s+\\w+"), one("uint\\s+\\w+");
    static const std::set<std::string> positions = {
        "thread_position_in_threadgroup", "threadgroup_position_in_grid", "thread_position_in_grid",
        "threads_per_threadgroup", "threadgroups_per_grid"};
    static const std::set<std::string> indices = {"thread_index_in_simdgroup",
                                                  "thread_index_in_threadgroup"};
    const std::string& text = param->text;
    std::smatch match;
    if (param->kind == MslParam::kBuffer) {
      if (!std::regex_match(text, memory))
        Error(at,
              "'buffer' attribute only applies to pointers and references to device and "
              "constant memory: " +
                  text);
      if (param->index >= kMaxBuffers)
        Error(at, "'buffer' attribute parameter is out of bounds: must be between 0 and 30");
      if (!taken->insert(param->index).second)
        Error(at,
              "cannot reserve 'buffer' resource location at index " + std::to_string(param->index));
    } else if (param->kind == MslParam::kThreadgroup) {
      if (!std::regex_match(text, shared) || param->index != 0)
        Error(at,
              "'threadgroup' attribute: one pointer to threadgroup memory is known here: " + text);
    } else if (positions.contains(attribute)) {
      if (!std::regex_match(text, match, number)) Error(at, "invalid type of " + attribute);
      param->type = match.empty() ? "uint" : match[1].str();
    } else if (indices.contains(attribute)) {
      if (!std::regex_match(text, one)) Error(at, "invalid type of " + attribute);
      param->type = "uint";
    } else {
      Error(at, "unknown attribute '" + attribute + "'");
    }
    param->attribute = attribute;
  }

  MslSource result_;
};

}  // namespace

MslSource ReadMsl(const std::string& source) { return Reader(source).Run(); }

}  // namespace tern::backend::metal::standin
