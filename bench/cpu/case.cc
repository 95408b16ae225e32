// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/case.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace tern::bench {
namespace {

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// A:float32:64x64:path
TensorSpec ParseTensor(const std::string& key, const std::string& text) {
  std::vector<std::string> parts = Split(text, ':');
  bool is_output = key == "out";
  if (parts.size() != (is_output ? 3 : 4))
    throw std::runtime_error("a tensor is NAME:TYPE:SHAPE" + std::string(is_output ? "" : ":FILE") +
                             ", not '" + text + "'");
  TensorSpec tensor{.name = parts[0], .dtype = parts[1], .is_output = is_output};
  for (const std::string& extent : Split(parts[2], 'x')) tensor.shape.push_back(std::stoll(extent));
  if (!is_output) tensor.path = parts[3];
  return tensor;
}

}  // namespace

size_t BytesOf(const std::string& dtype) {
  if (dtype == "float32" || dtype == "int32") return 4;
  if (dtype == "bfloat16") return 2;
  if (dtype == "int8" || dtype == "uint8") return 1;
  throw std::runtime_error("there are no tensors of " + dtype + " here");
}

int64_t TensorSpec::count() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}
size_t TensorSpec::bytes() const { return count() * BytesOf(dtype); }

Case Case::Parse(const std::string& line) {
  Case result;
  for (const std::string& word : Split(line, ' ')) {
    size_t equals = word.find('=');
    if (equals == std::string::npos) throw std::runtime_error("not KEY=VALUE: '" + word + "'");
    std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "in" || key == "const" || key == "out")
      result.tensors_.push_back(ParseTensor(key, value));
    else
      result.words_[key] = value;
  }
  return result;
}

const std::string& Case::Text(const std::string& key) const {
  auto found = words_.find(key);
  if (found == words_.end()) throw std::runtime_error("the case has no " + key);
  return found->second;
}

int64_t Case::Number(const std::string& key) const { return std::stoll(Text(key)); }

const TensorSpec& Case::tensor(const std::string& name) const {
  for (const TensorSpec& tensor : tensors_)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("the case has no tensor " + name);
}

const TensorSpec& Case::output() const {
  for (const TensorSpec& tensor : tensors_)
    if (tensor.is_output) return tensor;
  throw std::runtime_error("the case has no output");
}

void* Allocate(size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void ReadInto(const std::string& path, void* memory, size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  file.read(static_cast<char*>(memory), static_cast<std::streamsize>(bytes));
  if (!file || file.peek() != std::ifstream::traits_type::eof())
    throw std::runtime_error(path + ": not a file of " + std::to_string(bytes) + " bytes");
}

Buffers::Buffers(const Case& the_case) {
  for (const TensorSpec& tensor : the_case.tensors()) {
    auto& memory = memory_[tensor.name];
    memory.reset(Allocate(tensor.bytes()));
    if (tensor.is_output)
      std::memset(memory.get(), 0xff, tensor.bytes());
    else
      ReadInto(tensor.path, memory.get(), tensor.bytes());
  }
}

void* Buffers::Find(const std::string& name) const {
  auto found = memory_.find(name);
  if (found == memory_.end()) throw std::runtime_error("the case has no tensor " + name);
  return found->second.get();
}

void Buffers::Write(const TensorSpec& tensor, const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file.write(Get<char>(tensor.name), static_cast<std::streamsize>(tensor.bytes()));
  file.close();
  if (!file) throw std::runtime_error(path + ": could not be written");
}

}  // namespace tern::bench
