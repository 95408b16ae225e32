// SPDX-License-Identifier: Apache-2.0
//
// Models for shapes that are met, beside one for all shapes: where the compiler is in the process,
// a session's dims are compiled in while it goes on with the general model.
//
//   auto specializer = std::make_shared<Specializer>(Specializer::When::kLazy, dims, compile);
//   Session session(model, {.specializer = specializer});
//   session.Run(x);  // x: [7, 64]; the general model
//   session.Run(x);  // the same; [7, 64] came again, and is compiled by another thread
//   session.Run(x);  // once that is done: the model for [7, 64]
//
// It knows nothing of the compiler: `compile` does the work. Work and memory have a limit: the
// first kMaxShapes shapes that are compiled stay, and all others take the general model.
#ifndef TERN_RUNTIME_VM_SPECIALIZER_H_
#define TERN_RUNTIME_VM_SPECIALIZER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tern::runtime::vm {

class Model;

// What came of a shape.
struct Specialization {
  enum class State { kWaiting, kReady, kFailed };
  std::vector<int64_t> dims;
  State state = State::kWaiting;
  double seconds = 0;  // that compiling took
  std::string error;   // why it failed; the general model goes on
  std::shared_ptr<const Model> model;
};

class Specializer {
 public:
  enum class When {
    kLazy,   // by a thread of its own, when a shape comes for the second time
    kEager,  // before the first run of a shape
  };
  // "lazy", "eager"; "off" and "" are none; throws for others.
  static std::optional<When> Parse(std::string_view text);

  static constexpr size_t kMaxShapes = 8;

  // The model for these values of the general program's dims.
  using Compile = std::function<std::shared_ptr<const Model>(const std::vector<int64_t>& dims)>;

  Specializer(When when, std::vector<std::string> dim_names, Compile compile);
  // Waits for what is compiled now; what has not begun is given up.
  ~Specializer();
  Specializer(const Specializer&) = delete;

  // Before each run, on any thread: the model for it, or null for the general one.
  std::shared_ptr<const Model> Find(const std::vector<int64_t>& dims);

  // Until nothing is left to compile.
  void Wait();
  // Of all shapes that were compiled or are to be, in the order in which they came.
  std::vector<Specialization> All() const;
  // How many runs had a shape for which there was no place.
  uint64_t num_refused() const;
  // "n = 7, tokens = 64: compiled in 1.25 s", for people.
  std::string Describe(const Specialization& one) const;

 private:
  Specialization* FindShape(const std::vector<int64_t>& dims);
  // Whether a shape came before, of the last ones that did.
  bool CameBefore(const std::vector<int64_t>& dims);
  void CompileNow(Specialization* shape, std::unique_lock<std::mutex>* lock);
  void Work();

  const When when_;
  const std::vector<std::string> dim_names_;
  const Compile compile_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Specialization> shapes_;           // these stay where they are
  std::deque<std::vector<int64_t>> came_once_;  // the last one first
  uint64_t num_refused_ = 0;
  bool ends_ = false;
  std::thread worker_;  // from the first shape on
};

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_SPECIALIZER_H_
