// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and graphs of a device table (TernDeviceApi), for plugins whose driver has them
// as functions of one table. Header-only, as plugin_sdk.h is. A plugin describes its driver:
//
//   struct Api {
//     using Result, Stream, Event, Graph, GraphExec = ...;
//     static constexpr const char* kPrefix;         // of the names of its functions
//     using Current = ...;                          // while Current(3) lives, device 3 is current
//     static const Functions& functions();          // StreamCreate, EventRecord, ...
//     static constexpr Result kSuccess, kInvalidHandle, kGraphUpdateFailure;
//     static constexpr unsigned kStreamNonBlocking;
//     static constexpr int kCaptureThreadLocal, kCaptureRelaxed;
//     static void Check(Result, const char* call);  // throws unless kSuccess; adds the prefix
//     static Result EventCreate(Event*);
//     static Result GraphExecUpdate(GraphExec, Graph, int* reason);
//     static std::string WhyNoGraphs(int32_t device);
//   };
#ifndef TERN_RUNTIME_STREAM_TABLE_H_
#define TERN_RUNTIME_STREAM_TABLE_H_

#include <cstdint>
#include <string>

#include "tern/runtime/plugin_sdk.h"

namespace tern::plugin {

template <class Api>
struct StreamTable {
  using Current = Api::Current;
  using Result = Api::Result;
  using Stream = Api::Stream;
  using Event = Api::Event;
  using Graph = Api::Graph;
  using GraphExec = Api::GraphExec;

  static const auto& Driver() { return Api::functions(); }
  static Stream AsStream(void* stream) { return static_cast<Stream>(stream); }
  static Event AsEvent(void* event) { return static_cast<Event>(event); }
  static Graph AsGraph(void* graph) { return static_cast<Graph>(graph); }
  static GraphExec AsExec(void* executable) { return static_cast<GraphExec>(executable); }

  // Runs `f` with a device that is current.
  template <class F>
  static int On(int32_t device, F&& f) {
    return Guard([&] {
      Current current(device);
      f();
    });
  }

  // ---- Streams

  static int CreateStream(int32_t device, void** out) {
    return On(device, [&] {
      Stream stream = nullptr;
      Api::Check(Driver().StreamCreate(&stream, Api::kStreamNonBlocking), "StreamCreate");
      *out = stream;
    });
  }
  static int DestroyStream(int32_t device, void* stream) {
    return On(device, [&] {
      if (stream) Api::Check(Driver().StreamDestroy(AsStream(stream)), "StreamDestroy");
    });
  }
  static int Synchronize(int32_t device, void* stream) {
    return On(device, [&] {
      Api::Check(Driver().StreamSynchronize(AsStream(stream)), "StreamSynchronize");
    });
  }

  // ---- Events

  static int CreateEvent(int32_t device, void** out) {
    return On(device, [&] {
      Event event = nullptr;
      Api::Check(Api::EventCreate(&event), "EventCreate");
      *out = event;
    });
  }
  static int DestroyEvent(int32_t device, void* event) {
    return On(device, [&] { Api::Check(Driver().EventDestroy(AsEvent(event)), "EventDestroy"); });
  }
  static int RecordEvent(int32_t device, void* event, void* stream) {
    return On(device, [&] {
      Api::Check(Driver().EventRecord(AsEvent(event), AsStream(stream)), "EventRecord");
    });
  }
  static int WaitEvent(int32_t device, void* event, void* stream) {
    return On(device, [&] {
      Api::Check(Driver().StreamWaitEvent(AsStream(stream), AsEvent(event), 0), "StreamWaitEvent");
    });
  }
  static int SynchronizeEvent(int32_t device, void* event) {
    return On(device,
              [&] { Api::Check(Driver().EventSynchronize(AsEvent(event)), "EventSynchronize"); });
  }
  static int Elapsed(int32_t device, void* start, void* stop, double* seconds) {
    return On(device, [&] {
      Api::Check(Driver().EventSynchronize(AsEvent(start)), "EventSynchronize");
      Api::Check(Driver().EventSynchronize(AsEvent(stop)), "EventSynchronize");
      float milliseconds = 0;
      Result result = Driver().EventElapsedTime(&milliseconds, AsEvent(start), AsEvent(stop));
      if (result == Api::kInvalidHandle)
        TERN_THROW(ValueError) << "an event that was never recorded has no time";
      Api::Check(result, "EventElapsedTime");
      *seconds = milliseconds * 1e-3;
    });
  }

  // ---- Graphs: streams are captured by the driver

  static bool HasGraphs() {
    const auto& driver = Driver();
    return driver.StreamBeginCapture && driver.StreamEndCapture &&
           driver.ThreadExchangeCaptureMode && driver.GraphInstantiate && driver.GraphExecUpdate &&
           driver.GraphLaunch && driver.GraphExecDestroy && driver.GraphDestroy;
  }
  // Other threads go on: what they do is none of this thread's captures.
  static int BeginCapture(int32_t device, void* stream) {
    return On(device, [&] {
      if (!HasGraphs()) TERN_THROW(RuntimeError) << Api::WhyNoGraphs(device);
      Api::Check(Driver().StreamBeginCapture(AsStream(stream), Api::kCaptureThreadLocal),
                 "StreamBeginCapture");
    });
  }
  static int EndCapture(int32_t device, void* stream, void** out) {
    return On(device, [&] {
      Graph graph = nullptr;
      Result result = Driver().StreamEndCapture(AsStream(stream), &graph);
      if (result != Api::kSuccess && graph) Driver().GraphDestroy(graph);
      Api::Check(result, "StreamEndCapture");
      *out = graph;
    });
  }
  static int DestroyGraph(int32_t device, void* graph) {
    return On(device, [&] { Api::Check(Driver().GraphDestroy(AsGraph(graph)), "GraphDestroy"); });
  }
  static int InstantiateGraph(int32_t device, void* graph, void** out) {
    return On(device, [&] {
      GraphExec executable = nullptr;
      Api::Check(Driver().GraphInstantiate(&executable, AsGraph(graph), 0),
                 "GraphInstantiateWithFlags");
      *out = executable;
    });
  }
  static int UpdateGraph(int32_t device, void* executable, void* graph) {
    return On(device, [&] {
      int reason = 0;
      Result result = Api::GraphExecUpdate(AsExec(executable), AsGraph(graph), &reason);
      if (result == Api::kGraphUpdateFailure)
        TERN_THROW(ValueError) << Api::kPrefix
                               << "GraphExecUpdate: the graph has other nodes, or what an update "
                                  "cannot change (reason "
                               << reason << ")";
      Api::Check(result, "GraphExecUpdate");
    });
  }
  static int LaunchGraph(int32_t device, void* executable, void* stream) {
    return On(device, [&] {
      Api::Check(Driver().GraphLaunch(AsExec(executable), AsStream(stream)), "GraphLaunch");
    });
  }
  // The driver keeps it for launches that are under way.
  static int DestroyExecutable(int32_t device, void* executable) {
    return On(device, [&] {
      Api::Check(Driver().GraphExecDestroy(AsExec(executable)), "GraphExecDestroy");
    });
  }

  // While this lives, calls of this thread that the driver refuses to threads that capture are
  // allowed, and no part of a capture.
  class BesideCaptures {
   public:
    // Throws where the driver fails. Where `may_fail`, what follows is tried nevertheless: to give
    // something back.
    explicit BesideCaptures(bool may_fail = false) {
      if (!Driver().ThreadExchangeCaptureMode) return;
      Result result = Driver().ThreadExchangeCaptureMode(&mode_);
      is_exchanged_ = result == Api::kSuccess;
      if (!may_fail) Api::Check(result, "ThreadExchangeStreamCaptureMode");
    }
    ~BesideCaptures() {
      // Once more where it fails: later recordings of this thread would miss what they must not do.
      if (is_exchanged_ && Driver().ThreadExchangeCaptureMode(&mode_) != Api::kSuccess)
        Driver().ThreadExchangeCaptureMode(&mode_);
    }
    BesideCaptures(const BesideCaptures&) = delete;
    BesideCaptures& operator=(const BesideCaptures&) = delete;

   private:
    int mode_ = Api::kCaptureRelaxed;
    bool is_exchanged_ = false;
  };
};

}  // namespace tern::plugin

#endif  // TERN_RUNTIME_STREAM_TABLE_H_
