// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/constant.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tern/runtime/test_data/test_environment.h"

namespace tern::ir {
namespace {

using runtime::ErrorOf;

TEST(Constant, SplatFillsEveryElement) {
  Constant constant =
      Constant::Splat("s", DataType::Int(16), {3, 5}, IntImmNode::Make(DataType::Int(16), -2));
  EXPECT_EQ(constant->data().size(), 2u);
  std::vector<int16_t> out(15);
  constant->CopyTo(out.data());
  EXPECT_EQ(out, std::vector<int16_t>(15, -2));
}

TEST(Constant, PackedElementsAreTwoInAByte) {
  DataType int4 = DataType::Int(4);
  Constant constant = Constant::Splat("s", int4, {5}, IntImmNode::Make(int4, -3));
  std::string out(3, '\0');
  constant->CopyTo(out.data());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(*AsConstInt(LoadElement(int4, out, i)), -3);
  StoreElement(int4, IntImmNode::Make(int4, 6), out.data(), 3);
  EXPECT_EQ(*AsConstInt(LoadElement(int4, out, 2)), -3);
  EXPECT_EQ(*AsConstInt(LoadElement(int4, out, 3)), 6);
}

TEST(Constant, ElementsOfAllTypesComeBack) {
  for (const char* name :
       {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float32", "float64"}) {
    DataType dtype = *DataType::Parse(name);
    for (double value : {0.0, -1.5, 0.25}) {
      std::string bytes(dtype.bytes(), '\0');
      StoreElement(dtype, FloatImmNode::Make(dtype, value), bytes.data(), 0);
      Expr element = LoadElement(dtype, bytes, 0);
      EXPECT_EQ(element.As<FloatImmNode>()->value, value) << name;
    }
  }
  DataType uint64 = DataType::UInt(64);
  std::string bytes(8, '\xff');
  EXPECT_EQ(*AsConstInt(LoadElement(uint64, bytes, 0)), -1);  // the same bits
}

TEST(Constant, ContentsMustFitTheType) {
  EXPECT_EQ(ErrorOf([] { Constant::Owned("w", DataType::Float(32), {2, 3}, "1234"); }),
            "constant w: float32[2, 3] takes 24 bytes, but 4 are given");
  EXPECT_EQ(ErrorOf([] { Constant::Owned("w", DataType::Float(32), {2, -3}, ""); }),
            "constant w has the extent -3");
  EXPECT_EQ(ErrorOf([] {
              Constant::Owned("w", DataType::Float(32), {int64_t{1} << 40, int64_t{1} << 40, 0},
                              "");
            }),
            "constant w is too large: float32[1099511627776, 1099511627776, 0]");
  EXPECT_EQ(ErrorOf([] { Constant::Owned("w", DataType::Handle(), {1}, "12345678"); }),
            "constant w is of type handle; expected numbers or bools");
  EXPECT_EQ(ErrorOf([] { Constant::Splat("w", DataType::Int(32), {2}, Expr(1)); }),
            "expected a number of type int32, got one of type int64");
}

class ConstantFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "in" / "deep");
    std::ofstream(folder_ / "outside.bin") << "secret";
    std::ofstream(folder_ / "in" / "deep" / "w.bin") << "..abcd";
    std::filesystem::create_symlink("../outside.bin", folder_ / "in" / "link.bin");
    std::filesystem::create_symlink("deep/w.bin", folder_ / "in" / "stays.bin");
  }
  std::string Open(const std::string& name) const {
    return ErrorOf([&] { MappedFile::OpenInside((folder_ / "in").string(), name); });
  }
  runtime::TempDirectory directory_;
  std::filesystem::path folder_ = directory_.path();
};

TEST_F(ConstantFile, ElementsAreInTheFile) {
  auto file = MappedFile::OpenInside((folder_ / "in").string(), "deep/w.bin");
  Constant constant = Constant::InFile("w", DataType::UInt(8), {2, 2}, file, "deep/w.bin", 2);
  EXPECT_EQ(constant->data(), "abcd");
  EXPECT_EQ(constant->data().data(), file->bytes().data() + 2);  // no copy
  EXPECT_TRUE(StructuralEqual(constant, Constant::Owned("w", DataType::UInt(8), {2, 2}, "abcd")));
  EXPECT_EQ(
      ErrorOf([&] { Constant::InFile("w", DataType::UInt(8), {2, 2}, file, "deep/w.bin", 3); }),
      "constant w: uint8[2, 2] takes 4 bytes from byte 3 on, but deep/w.bin has 6");
}

TEST_F(ConstantFile, NamesStayInTheFolder) {
  EXPECT_EQ(Open("deep/w.bin"), "no error");
  EXPECT_EQ(Open("stays.bin"), "no error");
  for (const std::string& name :
       {std::string("../outside.bin"), std::string("deep/../../outside.bin"),
        (folder_ / "outside.bin").string(), std::string()})
    EXPECT_EQ(Open(name),
              "the file \"" + name +
                  "\": expected a name in the folder of the file that names it, without ..");
  EXPECT_EQ(Open("link.bin"), "the file \"link.bin\" is a link that leads out of folder " +
                                  (folder_ / "in").string());
  EXPECT_EQ(Open("none.bin"), "cannot read \"none.bin\" in folder " + (folder_ / "in").string() +
                                  ": No such file or directory");
  EXPECT_NE(Open("deep").find("it is no regular file"), std::string::npos);
}

}  // namespace
}  // namespace tern::ir
