// SPDX-License-Identifier: Apache-2.0
//
// What is measured, as the driver describes it in a line of words:
//
//   kind=matmul in=A:float32:64x64:data/x.A.bin const=B:float32:64x64:data/x.B.bin
//   out=C:float32:64x64 stride=1
//
// Tensors are row major, in files without a header; constant ones may be prepared before the time
// is taken.
#ifndef BENCH_CPU_CASE_H_
#define BENCH_CPU_CASE_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tern::bench {

struct TensorSpec {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::string path;  // of an output: empty
  bool is_output = false;

  int64_t count() const;
  size_t bytes() const;
};

// Of one element.
size_t BytesOf(const std::string& dtype);

class Case {
 public:
  static Case Parse(const std::string& line);

  const std::string& kind() const { return Text("kind"); }
  const std::string& Text(const std::string& key) const;
  int64_t Number(const std::string& key) const;
  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  const TensorSpec& tensor(const std::string& name) const;
  const TensorSpec& output() const;

 private:
  std::map<std::string, std::string> words_;
  std::vector<TensorSpec> tensors_;
};

// The tensors of a case in memory: inputs as in their files, all bits of outputs set.
class Buffers {
 public:
  explicit Buffers(const Case& the_case);

  template <class T = void>
  T* Get(const std::string& name) const {
    return static_cast<T*>(Find(name));
  }
  void Write(const TensorSpec& tensor, const std::string& path) const;

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  void* Find(const std::string& name) const;
  std::map<std::string, std::unique_ptr<void, Free>> memory_;
};

// Memory that starts at a cache line, uninitialised; for std::free.
void* Allocate(size_t bytes);
void ReadInto(const std::string& path, void* memory, size_t bytes);

}  // namespace tern::bench

#endif  // BENCH_CPU_CASE_H_
