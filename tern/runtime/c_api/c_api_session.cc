// SPDX-License-Identifier: Apache-2.0
//
// The sessions of c_api.h.
#include <cmath>
#include <cstring>

#include "tern/ffi/json.h"
#include "tern/runtime/c_api.h"
#include "tern/runtime/c_api/c_api_error.h"
#include "tern/runtime/c_api/c_api_model.h"
#include "tern/runtime/vm/session.h"

namespace tern::runtime {
namespace {

// Of a caller in C.
class ForeignThreads : public ThreadPool {
 public:
  explicit ForeignThreads(const TernThreadPool& pool) : pool_(pool) {
    TERN_CHECK(pool.run && pool.num_threads >= 1 && pool.num_threads <= kMaxThreads)
        << "a thread pool of " << pool.num_threads << " threads"
        << (pool.run ? "" : " without a function") << "; expected 1 to " << kMaxThreads;
  }
  int num_threads() const override { return pool_.num_threads; }
  bool Run(const std::function<void()>& task) override {
    auto call = [](void* data) { (*static_cast<const std::function<void()>*>(data))(); };
    int code = pool_.run(pool_.context, call, const_cast<std::function<void()>*>(&task),
                         pool_.num_threads);
    TERN_CHECK(code == 0) << "the thread pool of the caller failed with code " << code;
    task();  // what is left, where it made no call
    return true;
  }

 private:
  TernThreadPool pool_;
};

vm::SessionOptions OptionsOf(const TernSessionOptions* given,
                             const std::shared_ptr<vm::Specializer>& specializer) {
  vm::SessionOptions options;
  options.specializer = specializer;
  if (!given) return options;
  // The first version has all that is here.
  TERN_CHECK(given->size >= sizeof(TernSessionOptions))
      << "TernSessionOptions: size is " << given->size << ", expected at least "
      << sizeof(TernSessionOptions);
  TERN_CHECK(given->num_cpus >= 0 && (given->num_cpus == 0 || given->cpus))
      << "TernSessionOptions: num_cpus is " << given->num_cpus
      << (given->cpus ? "" : " without cpus");
  TERN_CHECK(given->denormals >= kTernDenormalsAsCaller && given->denormals <= kTernDenormalsFlush)
      << "TernSessionOptions: denormals is " << given->denormals << ", expected 0, 1 or 2";
  options.num_threads = given->num_threads;
  options.cpus.assign(given->cpus, given->cpus + given->num_cpus);
  if (given->thread_pool)
    options.thread_pool = std::make_shared<ForeignThreads>(*given->thread_pool);
  options.denormals = static_cast<Denormals>(given->denormals);
  options.in_place = given->in_place != 0;
  return options;
}

std::string ProfileText(const std::vector<vm::CallRecord>& records) {
  std::vector<ffi::Any> calls;
  for (const vm::CallRecord& record : records)
    calls.emplace_back(ffi::MakeMap(
        {{"kernel", record.callee()}, {"start", record.start}, {"seconds", record.seconds}}));
  return ffi::WriteJson(ffi::Any(ffi::MakeArray(std::move(calls))));
}

Tensor TensorOrNull(TernObject* object, const char* function) {
  return object ? Tensor(ObjectOf<TensorObj>(object, function)) : Tensor();
}

}  // namespace
}  // namespace tern::runtime

struct TernSession {
  TernSession(const TernModel& model, const TernSessionOptions* options)
      : session(model.model, tern::runtime::OptionsOf(options, model.specializer)) {}

  tern::runtime::vm::RunOptions NextRun() const {
    using Clock = std::chrono::steady_clock;
    tern::runtime::vm::RunOptions options;
    if (timeout > 0)
      options.deadline =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(std::fmin(timeout, kLongest)));
    return options;
  }

  static constexpr double kLongest = 1e9;  // seconds; their sum with the clock's has to fit
  tern::runtime::vm::Session session;
  std::vector<tern::runtime::Tensor> results;  // of tern_session_run_bound
  double timeout = 0;
  std::vector<tern::runtime::vm::CallRecord> profile;
};

using tern::runtime::Give;
using tern::runtime::Tensor;
using tern::runtime::Try;

int tern_session_create(TernModel* model, TernSession** session) {
  return tern_session_create_with(model, nullptr, session);
}

int tern_session_create_with(TernModel* model, const TernSessionOptions* options,
                             TernSession** session) {
  return Try([&] { *session = new TernSession(*model, options); });
}

void tern_session_free(TernSession* session) { delete session; }

int tern_session_run(TernSession* session, TernObject* const* inputs, int32_t num_inputs,
                     TernObject** outputs, int32_t num_outputs) {
  return Try([&] {
    constexpr const char* kName = "tern_session_run";
    size_t expected = session->session.model().program().outputs.size();
    TERN_CHECK(num_inputs >= 0 && num_outputs >= 0 && static_cast<size_t>(num_outputs) == expected)
        << kName << ": the model has " << expected << " outputs, " << num_outputs << " were given";
    std::vector<Tensor> given, wanted;
    for (int32_t i = 0; i < num_inputs; ++i)
      given.push_back(tern::runtime::TensorOrNull(inputs[i], kName));
    for (int32_t i = 0; i < num_outputs; ++i)
      wanted.push_back(tern::runtime::TensorOrNull(outputs[i], kName));
    std::vector<Tensor> results = session->session.Run(given, wanted, session->NextRun());
    for (size_t i = 0; i < results.size(); ++i)
      if (!outputs[i] && results[i]) outputs[i] = Give(std::move(results[i]));
  });
}

int tern_session_bind_input(TernSession* session, const char* name, TernObject* tensor) {
  return Try([&] {
    session->session.BindInput(name,
                               tern::runtime::TensorOrNull(tensor, "tern_session_bind_input"));
  });
}

int tern_session_bind_output(TernSession* session, const char* name, TernObject* tensor) {
  return Try([&] {
    session->session.BindOutput(name,
                                tern::runtime::TensorOrNull(tensor, "tern_session_bind_output"));
  });
}

int tern_session_bind_state(TernSession* session, const char* input, const char* output,
                            TernObject* initial) {
  return Try([&] {
    session->session.BindState(input, output,
                               tern::runtime::TensorOrNull(initial, "tern_session_bind_state"));
  });
}

int tern_session_reset_states(TernSession* session) {
  return Try([&] { session->session.ResetStates(); });
}

int tern_session_run_bound(TernSession* session) {
  return Try([&] {
    session->results.clear();
    session->results = session->session.RunBound(session->NextRun());
  });
}

int tern_session_get_output(TernSession* session, const char* name, TernObject** tensor) {
  return Try([&] {
    const auto& outputs = session->session.model().program().outputs;
    for (size_t i = 0; i < session->results.size(); ++i) {
      if (outputs[i].name != name || !session->results[i]) continue;
      *tensor = Give(session->results[i]);
      return;
    }
    TERN_THROW(ValueError)
        << "tern_session_get_output: the last run of what is bound gave no output " << name;
  });
}

int tern_session_select_outputs(TernSession* session, const char* const* names, int32_t count) {
  return Try([&] {
    TERN_CHECK(count >= 0) << "tern_session_select_outputs: there are no " << count << " names";
    session->session.SelectOutputs({names, names + count});
  });
}

int tern_session_set_timeout(TernSession* session, double seconds) {
  return Try([&] {
    TERN_CHECK(seconds >= 0) << "tern_session_set_timeout: " << seconds
                             << " s; expected 0 for no limit, or more";
    session->timeout = seconds;
  });
}

int tern_session_cancel(TernSession* session, int32_t* was_running) {
  return Try([&] {
    bool is_running = session->session.Cancel();
    if (was_running) *was_running = is_running;
  });
}

int tern_session_set_profile(TernSession* session, int32_t is_on) {
  return Try([&] {
    session->profile.clear();
    session->session.SetProfile(is_on ? &session->profile : nullptr);
  });
}

int tern_session_get_profile(TernSession* session, TernAny* json) {
  return Try(
      [&] { *json = tern::ffi::Any(tern::runtime::ProfileText(session->profile)).Release(); });
}
