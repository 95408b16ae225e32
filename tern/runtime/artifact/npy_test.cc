// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/npy.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

// What NumPy writes for `header`, in version 1.0.
std::string Npy(const std::string& header, const std::string& data) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

TEST(Npy, ReadsWhatNumPyWrites) {
  std::string data("\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05\0\0\0\x06\0\0\0", 24);
  Tensor tensor =
      ParseNpy(Npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }      \n", data));
  EXPECT_EQ(tensor->shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor->dtype(), DataType::Int(32));
  EXPECT_EQ(GetElement(tensor, 5), 6);
  EXPECT_EQ(
      ParseNpy(Npy("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", data.substr(0, 4)))
          ->shape()
          .size(),
      0u);
  EXPECT_EQ(
      ParseNpy(Npy("{'descr': '|b1', 'fortran_order': True, 'shape': (1,), }", "\1"))->dtype(),
      DataType::Bool());
}

TEST(Npy, RoundTripsEveryType) {
  TempDirectory directory;
  for (const char* name : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                           "uint64", "float16", "float32", "float64"}) {
    Tensor tensor = Tensor::Empty({2, 1}, *DataType::Parse(name));
    SetElement(tensor, 0, 1);
    SetElement(tensor, 1, 0);
    WriteNpy(directory.File("x.npy"), tensor);
    Tensor again = ReadNpy(directory.File("x.npy"));
    EXPECT_EQ(again->dtype(), tensor->dtype());
    EXPECT_EQ(again->shape(), tensor->shape());
    EXPECT_EQ(GetElement(again, 0), 1) << name;
    EXPECT_EQ(ReadFile(directory.File("x.npy")).size() % 64, tensor->num_bytes() % 64);
  }
}

TEST(Npy, Bfloat16BecomesFloat32) {
  TempDirectory directory;
  Tensor tensor = Tensor::Empty({1}, DataType::Bfloat16());
  SetElement(tensor, 0, 1.5);
  WriteNpy(directory.File("x.npy"), tensor);
  Tensor again = ReadNpy(directory.File("x.npy"));
  EXPECT_EQ(again->dtype(), DataType::Float(32));
  EXPECT_EQ(GetElement(again, 0), 1.5);
}

TEST(Npy, NibblesBecomeBytes) {
  TempDirectory directory;
  Tensor tensor = Tensor::Empty({3}, DataType::Int(4));
  for (int i = 0; i < 3; ++i) SetElement(tensor, i, i - 2);
  WriteNpy(directory.File("x.npy"), tensor);
  Tensor again = ReadNpy(directory.File("x.npy"));
  EXPECT_EQ(again->dtype(), DataType::Int(8));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(GetElement(again, i), i - 2);
}

TEST(Npy, ColumnMajorFilesBecomeRowMajor) {
  Tensor tensor = ParseNpy(Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                               std::string("\0\1\2\3\4\5", 6)));
  EXPECT_TRUE(tensor->is_compact());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(GetElement(tensor, i), i % 3 * 2 + i / 3);
  EXPECT_EQ(ErrorOf([] {
              ParseNpy(
                  Npy("{'descr': '|u1', 'fortran_order': True, 'shape': (0, 4294967296, "
                      "4294967296), }",
                      ""));
            }),
            "shape (0, 4294967296, 4294967296) has more elements than 64 bits can count");
}

TEST(Npy, SaysWhatItDoesNotRead) {
  auto error = [](const std::string& header, const std::string& data = "") {
    return ErrorOf([&] { ParseNpy(Npy(header, data)); });
  };
  EXPECT_EQ(error("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}"),
            "big-endian elements (>f4) are not supported");
  EXPECT_EQ(
      error("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}"),
      "elements of type '<c8' are not supported: bool, integers and floats of up to 64 bits are");
  EXPECT_EQ(error("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234"),
            "the .npy file is truncated: 8 more bytes expected, 4 left");
  EXPECT_EQ(error("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "12345"),
            "the .npy file has 1 bytes too many");
  EXPECT_EQ(error("{'descr': '<f4', 'shape': (1,)}"),
            "bad .npy header at offset 31: descr, fortran_order or shape is missing");
  EXPECT_NE(error("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, "
                  "9223372036854775807)}"),
            "no error");
  EXPECT_EQ(ErrorOf([] { ParseNpy("text"); }), "not a .npy file");
}

TEST(Npy, EveryTruncationIsAnError) {
  std::string bytes = Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "1234");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(ParseNpy(std::string_view(bytes).substr(0, size)), Error) << size;
}

TEST(Npy, ErrorsNameTheFile) {
  TempDirectory directory;
  WriteFile(directory.File("x.npy"), "text");
  EXPECT_EQ(ErrorOf([&] { ReadNpy(directory.File("x.npy")); }),
            directory.File("x.npy") + ": not a .npy file");
  EXPECT_EQ(ErrorOf([&] { ReadNpy(directory.File("y.npy")); }),
            directory.File("y.npy") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(ErrorOf([&] { ReadNpy(directory.path()); }),
            directory.path() + ": cannot be read: it is a directory, and a file is expected");
}

// Headers are looked at before what follows them.
TEST(Npy, AHeaderIsNotWorthGigabytes) {
  TempDirectory directory;
  std::string path = directory.File("x.npy");
  WriteFile(path, Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", ""));
  uint64_t size = std::filesystem::file_size(path);
  if (truncate(path.c_str(), off_t{12} << 30) != 0) GTEST_SKIP() << "no such files here";
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(ErrorOf([&] { ReadNpy(path); }), path + ": the .npy file has " +
                                                 std::to_string((uint64_t{12} << 30) - size - 4) +
                                                 " bytes too many");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "kilobytes";
}

}  // namespace
}  // namespace tern::runtime
