// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/cts/cases.h"

#include <algorithm>
#include <sstream>

#include "tern/ffi/text.h"
#include "tools/run_report.h"

namespace tern::tools {
namespace {

// What the comments of a program say. Groups are kept as text until all are read.
struct Comments {
  std::vector<std::string> dtypes{""}, dims, smoke, with;
  int64_t offset = 0;
  bool none = false;
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void AddGroups(const std::string& text, std::vector<std::string>* groups) {
  std::istringstream stream(text);
  if (Words(text).empty()) groups->emplace_back();
  for (std::string group; std::getline(stream, group, '|');) groups->push_back(group);
}

Comments ReadComments(std::string_view text) {
  Comments comments;
  std::istringstream lines{std::string(text)};
  constexpr std::string_view kStart = "# cts: ";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kStart)) continue;
    std::string word = line.substr(kStart.size(), line.find(' ', kStart.size()) - kStart.size());
    std::string rest = line.substr(kStart.size() + word.size());
    if (word == "dtypes")
      comments.dtypes = Words(rest);
    else if (word == "dims")
      AddGroups(rest, &comments.dims);
    else if (word == "smoke")
      AddGroups(rest, &comments.smoke);
    else if (word == "with")
      comments.with = Words(rest);
    else if (word == "offset")
      comments.offset = ParseInteger("offset", Words(rest).empty() ? "" : Words(rest)[0]);
    else if (word == "none")
      comments.none = true;
    else
      TERN_THROW(ValueError) << "'" << line
                             << "': expected dtypes, dims, smoke, with, offset or none";
  }
  if (comments.dims.empty()) comments.dims.emplace_back();
  return comments;
}

// "n=7 s=0.5": integers are extents and integer parameters, the others float parameters.
void ReadDims(const std::vector<std::string>& words, runtime::RunOptions* run) {
  for (const std::string& word : words) {
    auto [name, value] = SplitAssignment("dims", word);
    if (value.find('.') != std::string::npos)
      run->inputs[name] = value;
    else
      run->dims[name] = ParseInteger("dims", value);
  }
}

std::string CaseName(const std::string& variant, const runtime::RunOptions& run) {
  std::string name = variant;
  for (const auto& [dim, value] : run.dims) name += "/" + dim + "=" + std::to_string(value);
  for (const auto& [input, value] : run.inputs) name += "/" + input + "=" + value;
  return name;
}

std::string VariantName(const SuiteFile& file, const std::string& dtype) {
  return std::string(file.name) + (dtype.empty() ? "" : "/" + dtype);
}

// "float32 n=7 k=3"
std::string SmokeName(const SuiteFile& file, const std::string& group) {
  std::vector<std::string> words = Words(group);
  std::string dtype;
  if (!words.empty() && words[0].find('=') == std::string::npos) {
    dtype = words[0];
    words.erase(words.begin());
  }
  runtime::RunOptions run;
  ReadDims(words, &run);
  return CaseName(VariantName(file, dtype), run);
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

void MarkSmoke(const std::string& name, std::vector<Variant>* variants) {
  std::vector<std::string> names;
  for (Variant& variant : *variants) {
    for (Case& suite_case : variant.cases) {
      names.push_back(suite_case.name);
      if (suite_case.name != name) continue;
      suite_case.smoke = true;
      return;
    }
  }
  TERN_THROW(ValueError) << "the smoke case " << name << " is none of its cases"
                         << ffi::DidYouMean(name, names);
}

std::vector<Variant> MakeVariants(const SuiteFile& file) {
  Comments comments = ReadComments(file.text);
  std::vector<Variant> variants;
  if (comments.none) return variants;
  for (const std::string& dtype : comments.dtypes) {
    Variant variant{VariantName(file, dtype), Replace(std::string(file.text), "$T", dtype), {}};
    for (const std::string& group : comments.dims) {
      Case made;
      made.run.offset = comments.offset;
      ReadDims(Words(group), &made.run);
      made.name = CaseName(variant.name, made.run);
      ReadDims(comments.with, &made.run);
      variant.cases.push_back(std::move(made));
    }
    variants.push_back(std::move(variant));
  }
  for (const std::string& group : comments.smoke) MarkSmoke(SmokeName(file, group), &variants);
  return variants;
}

}  // namespace

std::vector<Variant> ReadVariants(const SuiteFile& file) {
  return WithContext("reading the cts program " + std::string(file.name),
                     [&] { return MakeVariants(file); });
}

}  // namespace tern::tools
