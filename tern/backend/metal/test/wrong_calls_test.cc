// SPDX-License-Identifier: Apache-2.0
//
// The messages that the stand-in must refuse. They end the process, as they would with Metal's own
// checks, so each is sent in a process of its own.
#include <cstdio>
#include <ostream>

#include "tern/backend/metal/test/standin_fixture.h"

namespace tern::backend::metal {
namespace {

struct WrongCall {
  const char* name;
  void (*send)();
  const char* message;
};

void PrintTo(const WrongCall& call, std::ostream* out) { *out << call.name; }

Id Queue() {
  static Id queue = Send<Id>(DeviceAt(0), "newCommandQueue");
  return queue;
}
Id Commands() { return Send<Id>(Queue(), "commandBuffer"); }
Id Encoder() { return Send<Id>(Commands(), "computeCommandEncoder"); }
Id Pipeline() {
  std::string log;
  static Id pipeline =
      NewPipeline(
          "#include <metal_stdlib>\nkernel void k(device float* a [[buffer(0)]]) { a[0] = 0; }",
          "k", &log)
          .Give();
  return pipeline;
}
void SetBuffer(Id encoder, Id buffer, UInt offset, UInt index) {
  Send<void>(encoder, "setBuffer:offset:atIndex:", buffer, offset, index);
}
void Dispatch(Id encoder, UInt blocks, UInt threads) {
  Send<void>(encoder, "dispatchThreadgroups:threadsPerThreadgroup:", Size{blocks, 1, 1},
             Size{threads, 1, 1});
}

class WrongCallDeathTest : public testing::TestWithParam<WrongCall> {};

TEST_P(WrongCallDeathTest, IsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        OpenStandin();
        Pool pool;
        GetParam().send();
      },
      std::string("stand-in metal: .*") + GetParam().message);
}

// A 5000-byte constant for setBytes.
constexpr char kMany[5000] = {};

INSTANTIATE_TEST_SUITE_P(
    Calls, WrongCallDeathTest,
    testing::Values(
        WrongCall{"Nil", [] { Send<void>(nullptr, "commit"); }, "message commit to nil"},
        WrongCall{"NoObject", [] { Send<void>(reinterpret_cast<Id>(&objc), "commit"); },
                  "message commit to what is no object"},
        WrongCall{"UnknownSelector", [] { Send<void>(Commands(), "comit"); },
                  "a MTLCommandBuffer does not understand comit"},
        WrongCall{"OfAnotherClass", [] { Send<Id>(Queue(), "contents"); },
                  "a MTLCommandQueue does not understand contents"},
        WrongCall{"UseAfterRelease",
                  [] {
                    Id buffer = NewBuffer(4).Give();
                    Send<void>(buffer, "release");
                    Send<void*>(buffer, "contents");
                  },
                  "message contents to a MTLBuffer that was released"},
        WrongCall{"ReleasedTwice",
                  [] {
                    Id buffer = NewBuffer(4).Give();
                    Send<void>(buffer, "release");
                    Send<void>(buffer, "release");
                  },
                  "message release to a MTLBuffer that was released"},
        WrongCall{"ReleasedArgument",
                  [] {
                    Id buffer = NewBuffer(4).get();
                    SetBuffer(Encoder(), buffer, 0, 0);
                  },
                  "setBuffer:offset:atIndex:: the MTLBuffer was released"},
        WrongCall{"WrongArgument", [] { SetBuffer(Encoder(), Queue(), 0, 0); },
                  "expected a MTLBuffer, got a MTLCommandQueue"},
        WrongCall{"NilArgument", [] { SetBuffer(Encoder(), nullptr, 0, 0); },
                  "nil is no MTLBuffer"},
        WrongCall{"ArgumentOfAnotherDevice",
                  [] {
                    Ref buffer = NewBuffer(4, 1);
                    SetBuffer(Encoder(), buffer.get(), 0, 0);
                  },
                  "the buffer is of another device"},
        WrongCall{"OffsetBeyond",
                  [] {
                    Ref buffer = NewBuffer(4);
                    SetBuffer(Encoder(), buffer.get(), 4, 0);
                  },
                  "the offset is beyond the buffer"},
        WrongCall{"IndexBeyond",
                  [] {
                    Ref buffer = NewBuffer(4);
                    SetBuffer(Encoder(), buffer.get(), 0, 31);
                  },
                  "the index is beyond 30"},
        WrongCall{"TooManyBytes",
                  [] {
                    Send<void>(Encoder(), "setBytes:length:atIndex:", &kMany[0], UInt{5000},
                               UInt{0});
                  },
                  "takes 1 to 4096 bytes"},
        WrongCall{"EmptyBuffer", [] { NewBuffer(0); }, "a buffer has at least one byte"},
        WrongCall{"EncodesAfterTheEnd",
                  [] {
                    Id encoder = Encoder();
                    Send<void>(encoder, "setComputePipelineState:", Pipeline());
                    Send<void>(encoder, "endEncoding");
                    Dispatch(encoder, 1, 1);
                  },
                  "dispatchThreadgroups:threadsPerThreadgroup: after endEncoding"},
        WrongCall{"EndsTwice",
                  [] {
                    Id encoder = Encoder();
                    Send<void>(encoder, "endEncoding");
                    Send<void>(encoder, "endEncoding");
                  },
                  "endEncoding after endEncoding"},
        WrongCall{"NeverEnds", [] { Encoder(); },
                  "(an encoder is released before endEncoding|while an encoder is open)"},
        WrongCall{"TwoEncoders",
                  [] {
                    Id commands = Commands();
                    Send<Id>(commands, "computeCommandEncoder");
                    Send<Id>(commands, "computeCommandEncoder");
                  },
                  "computeCommandEncoder while an encoder is open"},
        WrongCall{"CommitsWhileEncoding",
                  [] {
                    Id commands = Commands();
                    Send<Id>(commands, "computeCommandEncoder");
                    Send<void>(commands, "commit");
                  },
                  "commit while an encoder is open"},
        WrongCall{"CommitsTwice",
                  [] {
                    Id commands = Commands();
                    Send<void>(commands, "commit");
                    Send<void>(commands, "commit");
                  },
                  "commit after commit"},
        WrongCall{"EncodesAfterCommit",
                  [] {
                    Id commands = Commands();
                    Send<void>(commands, "commit");
                    Send<Id>(commands, "computeCommandEncoder");
                  },
                  "computeCommandEncoder after commit"},
        WrongCall{"WaitsBeforeCommit", [] { Send<void>(Commands(), "waitUntilCompleted"); },
                  "waitUntilCompleted before commit"},
        WrongCall{"NoPipeline", [] { Dispatch(Encoder(), 1, 1); }, "without a pipeline"},
        WrongCall{"TooManyThreads",
                  [] {
                    Id encoder = Encoder();
                    Send<void>(encoder, "setComputePipelineState:", Pipeline());
                    Dispatch(encoder, 1, 1025);
                  },
                  "1025 threads, more than maxTotalThreadsPerThreadgroup, 1024"},
        WrongCall{"NoThreads",
                  [] {
                    Id encoder = Encoder();
                    Send<void>(encoder, "setComputePipelineState:", Pipeline());
                    Dispatch(encoder, 0, 1);
                  },
                  "an extent is 0"},
        WrongCall{"NoPool",
                  [] {
                    objc.pool_pop(reinterpret_cast<void*>(1));
                    Commands();
                  },
                  "a MTLCommandBuffer is autoreleased, and there is no pool"},
        WrongCall{"PoolsOutOfOrder",
                  [] {
                    void* outer = objc.pool_push();
                    objc.pool_push();
                    objc.pool_pop(outer);
                  },
                  "a pool is popped that is not the innermost"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LeakDeathTest, IsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TERN_STANDIN_STRICT", "1", 1);
        OpenStandin();
        NewBuffer(4).Give();
        std::exit(0);
      },
      testing::ExitedWithCode(97), "at the end there are still\n  1 MTLBuffer");
}

// What goes wrong with a command buffer is in its error.
TEST(CommandBufferTest, HasAnError) {
  OpenStandin();
  Pool pool;
  Id commands = Commands(), encoder = Send<Id>(commands, "computeCommandEncoder");
  Send<void>(encoder, "setComputePipelineState:", Pipeline());
  Dispatch(encoder, 1, 1);
  Send<void>(encoder, "endEncoding");
  Send<void>(commands, "commit");
  EXPECT_EQ(Send<UInt>(commands, "status"), 2u) << "nothing is done before somebody waits";
  Send<void>(commands, "waitUntilCompleted");
  EXPECT_EQ(Send<UInt>(commands, "status"), 5u);
  EXPECT_EQ(MessageOf(Send<Id>(commands, "error")),
            "kernel k: nothing is bound to buffer 0, device float* a");
}

TEST(CommandBufferTest, WaitsForAnEventThatNobodySignals) {
  OpenStandin();
  Pool pool;
  Ref event = Ref::Take(Send<Id>(DeviceAt(0), "newEvent"));
  Id commands = Commands();
  Send<void>(commands, "encodeWaitForEvent:value:", event.get(), uint64_t{1});
  Send<void>(commands, "commit");
  Send<void>(commands, "waitUntilCompleted");
  EXPECT_EQ(MessageOf(Send<Id>(commands, "error")), "an event is waited for that nobody signals");
}

}  // namespace
}  // namespace tern::backend::metal
