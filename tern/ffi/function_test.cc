// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/function.h"

#include <gtest/gtest.h>

#include <thread>

#include "tern/ffi/containers.h"

namespace tern::ffi {
namespace {

std::string ErrorOf(const std::function<void()>& body, std::string* kind = nullptr) {
  try {
    body();
  } catch (const Error& error) {
    if (kind) *kind = error.kind();
    return error.what();
  }
  return "no error";
}

TEST(Function, ConvertsTypedArguments) {
  auto join = Function::FromTyped("join", [](std::string a, int64_t n, double x, bool b) {
    std::ostringstream out;
    out << a << n << x << b;
    return out.str();
  });
  EXPECT_EQ(join("s", true, 2, 1).As<std::string>(), "s121");
}

TEST(Function, TakesAndGivesAnything) {
  auto same = Function::FromTyped("same", [](Any value) { return value; });
  EXPECT_EQ(same("text").As<std::string>(), "text");
  EXPECT_EQ(same(same).As<Function>().get(), same.get());
  auto nothing = Function::FromTyped("nothing", [] {});
  EXPECT_TRUE(nothing().is_none());
}

TEST(Function, WrongCountNamesTheFunction) {
  auto f = Function::FromTyped("pair", [](int64_t, int64_t) {});
  std::string kind;
  EXPECT_EQ(ErrorOf([&] { f(1); }, &kind), "pair: expected 2 arguments, got 1");
  EXPECT_EQ(kind, "TypeError");
}

TEST(Function, WrongTypeNamesTheArgument) {
  auto f = Function::FromTyped("scale", [](int64_t, std::string) {});
  EXPECT_EQ(ErrorOf([&] { f(1, 2); }), "scale: argument 1: expected string, got int 2");
  auto narrow = Function::FromTyped("narrow", [](int8_t) {});
  EXPECT_EQ(ErrorOf([&] { narrow(300); }), "narrow: argument 0: expected int, got int 300");
}

TEST(Function, ParameterNamesStandInMessages) {
  auto f = Function::FromTyped("scale", [](int64_t, std::string) {}, {"factor", "unit"});
  EXPECT_EQ(ErrorOf([&] { f(1, 2); }), "scale: argument 1 (unit): expected string, got int 2");
}

TEST(Function, ObjectsAreBorrowedForTheCall) {
  Array array = MakeArray({});
  auto f = Function::FromPacked(
      [&](Args args) -> Any { return args[0].raw().v_obj == array->header() && array->unique(); });
  EXPECT_TRUE(f(array).As<bool>());
  EXPECT_TRUE(f(Any(AnyView(Any(array).raw()))).As<bool>() == false);  // the value counts too
  Array none;
  EXPECT_TRUE(
      Function::FromPacked([](Args args) -> Any { return args[0].is_none(); })(none).As<bool>());
}

TEST(Function, ErrorsCrossWithKindAndContext) {
  auto f = Function::FromPacked([](Args) -> Any {
    return WithContext("doing it", []() -> Any { throw Error("KeyError", "no such thing"); });
  });
  std::string kind;
  EXPECT_EQ(ErrorOf([&] { f(); }, &kind), "no such thing\n  while doing it");
  EXPECT_EQ(kind, "KeyError");
}

TEST(Function, ForeignExceptionsBecomeErrors) {
  auto f = Function::FromPacked([](Args) -> Any { throw std::runtime_error("std"); });
  EXPECT_EQ(ErrorOf([&] { f(); }), "std");
  auto g = Function::FromPacked([](Args) -> Any { throw 3; });
  EXPECT_EQ(ErrorOf([&] { g(); }), "unknown exception");
}

TEST(Function, FailureWithoutAnErrorIsReported) {
  Function f(Make<FunctionObj>([](void*, const TernAny*, int32_t, TernAny*) { return -1; }));
  std::string kind;
  EXPECT_NE(ErrorOf([&] { f(); }, &kind).find("without saying why"), std::string::npos);
  EXPECT_EQ(kind, "InternalError");
}

TEST(Function, RaisedErrorsBelongToTheirThread) {
  SetRaised(Error("ValueError", "mine"));
  std::thread([] { EXPECT_EQ(TakeRaised().kind(), "InternalError"); }).join();
  EXPECT_EQ(TakeRaised().message(), "mine");
  EXPECT_EQ(TakeRaised().kind(), "InternalError");
}

TEST(Function, ReleasesItsCaptures) {
  Array array = MakeArray({});
  {
    auto f = Function::FromTyped("f", [array] { return array; });
    EXPECT_EQ(f().As<Array>().get(), array.get());
  }
  EXPECT_TRUE(array->unique());
}

}  // namespace
}  // namespace tern::ffi
