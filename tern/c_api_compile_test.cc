// SPDX-License-Identifier: Apache-2.0
#include "tern/c_api_compile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tern/runtime/artifact/file_bytes.h"

namespace {

constexpr const char* kAdd =
    "func add(A: float32[n], B: float32[n]) { for i in 0..n { B[i] = A[i] + 1 } }\n";

std::string Take(TernAny* value) {
  const char* data = nullptr;
  uint64_t size = 0;
  EXPECT_EQ(tern_chars_get(value, &data, &size), 0);
  std::string text(data, size);
  tern_value_release(value);
  return text;
}

TernSource* Parse(const std::string& text) {
  TernSource* source = nullptr;
  EXPECT_EQ(tern_source_parse(text.data(), text.size(), "test", &source), 0) << tern_last_error();
  return source;
}

TEST(CApiCompile, KernelsRunAndAreSaved) {
  TernSource* source = Parse(kAdd);
  int32_t is_model = 1;
  EXPECT_EQ(tern_source_is_model(source, &is_model), 0);
  EXPECT_EQ(is_model, 0);
  TernExecutable* executable = nullptr;
  ASSERT_EQ(tern_compile(source, R"({"targets": ["c"]})", &executable), 0) << tern_last_error();
  TernAny text{};
  ASSERT_EQ(tern_executable_source(executable, "c", &text), 0) << tern_last_error();
  EXPECT_NE(Take(&text).find("add"), std::string::npos);
  EXPECT_EQ(tern_executable_source(executable, "ptx", &text), -1);
  ASSERT_EQ(tern_explain(source, "test", nullptr, &text), 0);
  EXPECT_NE(Take(&text).find("add"), std::string::npos);
  tern_source_free(source);
  std::string path = (std::filesystem::path(testing::TempDir()) / "c_api_compile_test.c").string();
  EXPECT_EQ(tern_executable_save(executable, path.c_str(), nullptr), 0) << tern_last_error();
  EXPECT_TRUE(std::filesystem::exists(path));
  TernModel* model = nullptr;
  EXPECT_EQ(tern_executable_model(executable, &model), -1);
  EXPECT_NE(std::string(tern_last_error()).find("no model"), std::string::npos);
  tern_executable_free(executable);
}

TEST(CApiCompile, ModelsOfBytesOutliveThem) {
  TernSource* source = nullptr;
  TernExecutable* executable = nullptr;
  TernModel* model = nullptr;
  {
    std::string bytes = tern::runtime::ReadFile(TERN_TEST_MODELS "/mnist.onnx", 1 << 20);
    ASSERT_EQ(tern_source_parse_onnx(bytes.data(), bytes.size(), "mnist", nullptr, &source), 0)
        << tern_last_error();
  }
  ASSERT_EQ(tern_compile(source, R"({"targets": ["interp"]})", &executable), 0)
      << tern_last_error();
  ASSERT_EQ(tern_executable_model(executable, &model), 0) << tern_last_error();
  tern_executable_free(executable);
  tern_source_free(source);
  int32_t count = 0;
  EXPECT_EQ(tern_model_num_inputs(model, &count), 0);
  EXPECT_EQ(count, 1);
  tern_model_free(model);
}

TEST(CApiCompile, ModelsAreSpecializedForShapesThatCome) {
  TernSource* source = Parse("graph main(x: float32[n, 4]) {\n  y = relu(x)\n  return y\n}\n");
  TernExecutable* executable = nullptr;
  TernModel* model = nullptr;
  TernSession* session = nullptr;
  ASSERT_EQ(tern_compile(source, R"({"specialize": "eager"})", &executable), 0)
      << tern_last_error();
  ASSERT_EQ(tern_executable_model(executable, &model), 0) << tern_last_error();
  tern_executable_free(executable);
  tern_source_free(source);
  ASSERT_EQ(tern_session_create(model, &session), 0) << tern_last_error();
  TernAny json{};
  ASSERT_EQ(tern_model_specializations(model, 1, &json), 0) << tern_last_error();
  EXPECT_EQ(Take(&json), "[]");
  int64_t shape[] = {3, 4};
  constexpr TernDType float32{2, 32, 1};
  TernObject *x = nullptr, *y = nullptr;
  ASSERT_EQ(tern_tensor_make(shape, 2, float32, {kTernDeviceCpu, 0}, &x), 0);
  ASSERT_EQ(tern_session_run(session, &x, 1, &y, 1), 0) << tern_last_error();
  ASSERT_EQ(tern_model_specializations(model, 1, &json), 0) << tern_last_error();
  std::string text = Take(&json);
  EXPECT_NE(text.find("\"n\":3"), std::string::npos) << text;
  EXPECT_NE(text.find("\"state\":\"ready\""), std::string::npos) << text;
  tern_object_release(x);
  tern_object_release(y);
  tern_session_free(session);
  tern_model_free(model);
}

TEST(CApiCompile, OptionsAreChecked) {
  TernSource* source = Parse(kAdd);
  TernExecutable* executable = nullptr;
  auto fails = [&](const char* options, const char* why) {
    EXPECT_EQ(tern_compile(source, options, &executable), -1);
    EXPECT_NE(std::string(tern_last_error()).find(why), std::string::npos) << tern_last_error();
  };
  fails(R"({"target": ["c"]})", "options: field \"target\" is not known");
  fails(R"({"targets": "c"})", "options.targets: expected Array");
  fails(R"({"fuse": 1})", "options.fuse: expected bool");
  fails(R"({"specialize": "always"})", "expected off, lazy or eager");
  fails(R"({"specialize": "lazy"})", "options.specialize is for models");
  fails("{", "offset");
  fails(R"({"targets": ["c", "opencl"]})", "opencl is a device");
  tern_source_free(source);
  EXPECT_EQ(tern_source_parse("func", 4, "bad", &source), -1);
  EXPECT_EQ(std::string(tern_last_error_kind()), "ParseError");
  EXPECT_EQ(tern_source_parse_onnx("junk", 4, "junk", nullptr, &source), -1);
  EXPECT_EQ(tern_source_read("nowhere.onnx", R"({"dims": {"n": -1}})", &source), -1);
  EXPECT_NE(std::string(tern_last_error()).find("options.dims.n"), std::string::npos);
}

TEST(CApiCompile, TargetsAreJson) {
  TernAny text{};
  ASSERT_EQ(tern_targets(&text), 0) << tern_last_error();
  std::string json = Take(&text);
  EXPECT_NE(json.find("\"default_host\":"), std::string::npos);
  EXPECT_NE(json.find("\"name\":\"interp\""), std::string::npos);
}

}  // namespace
