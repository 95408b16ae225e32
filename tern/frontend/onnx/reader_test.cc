// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tern/ffi/error.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::frontend::onnx {
namespace {

// ---- writing: a message is the text of its fields

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
std::string Int(int number, int64_t value) {
  return Varint(number * 8) + Varint(static_cast<uint64_t>(value));
}
std::string Bytes(int number, const std::string& bytes) {
  return Varint(number * 8 + 2) + Varint(bytes.size()) + bytes;
}
template <class T>
std::string Raw(std::initializer_list<T> values) {
  std::string bytes;
  for (T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}
std::string Float(int number, float value) { return Varint(number * 8 + 5) + Raw({value}); }

std::string TensorOf(ElemType type, std::initializer_list<int64_t> dims, const std::string& data,
                     const std::string& name = "w") {
  std::string bytes;
  for (int64_t dim : dims) bytes += Int(1, dim);
  return bytes + Int(2, static_cast<int>(type)) + Bytes(8, name) + data;
}
std::string ModelOf(const std::string& graph) {
  return Int(1, 8) + Bytes(7, graph) + Bytes(8, Bytes(1, "ai.onnx") + Int(2, 17));
}
std::string NodeOf(const std::string& attribute) {
  return Bytes(1, Bytes(3, "conv1") + Bytes(4, "Conv") + Bytes(5, attribute));
}

std::string ErrorOf(const std::string& bytes) {
  try {
    ParseModel(bytes, "m.onnx");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "ValueError");
    return error.message();
  }
  return "none";
}
std::string TensorError(const std::string& bytes) { return ErrorOf(ModelOf(Bytes(5, bytes))); }

std::string DataOf(const std::string& tensor) {
  return std::string(ParseTensor(tensor).Data().bytes);
}

bool Has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  ADD_FAILURE() << "no \"" << part << "\" in: " << text;
  return false;
}

// ---- what is read

TEST(OnnxReader, Model) {
  std::string node = Bytes(1, Bytes(1, "x") + Bytes(1, "") + Bytes(2, "y") + Bytes(3, "n") +
                                  Bytes(4, "Clip") + Bytes(7, "ai.onnx") + Bytes(8, "o"));
  std::string dims = Bytes(1, Int(1, 3)) + Bytes(1, Bytes(2, "batch")) + Bytes(1, "") +
                     Bytes(1, Int(1, -1)) + Bytes(1, Bytes(2, "unk__7"));
  std::string type = Bytes(1, Int(1, 1) + Bytes(2, dims));
  std::string sequence = Bytes(4, Bytes(1, Bytes(1, Int(1, 7))));
  std::string map = Bytes(5, Int(1, 8) + Bytes(2, type));
  std::string optional = Bytes(9, Bytes(1, sequence));
  std::string graph = node + Bytes(2, "g") + Bytes(11, Bytes(1, "x") + Bytes(2, type)) +
                      Bytes(12, Bytes(1, "y") + Bytes(2, optional)) +
                      Bytes(13, Bytes(1, "z") + Bytes(2, map));
  std::string function = Bytes(1, "f") + Bytes(4, "a") + Bytes(5, "b") + Bytes(6, "axis") +
                         Bytes(7, Bytes(4, "Relu")) + Bytes(9, Int(2, 15)) + Bytes(10, "local") +
                         Bytes(11, Bytes(1, "k") + Int(3, 4) + Int(20, 2)) + Bytes(13, "v");
  std::string bytes = ModelOf(graph) + Bytes(2, "tool") + Bytes(3, "1.0") + Bytes(4, "org") +
                      Int(5, 6) + Bytes(8, Bytes(1, "local") + Int(2, 1)) +
                      Bytes(14, Bytes(1, "key") + Bytes(2, "value")) + Bytes(25, function) +
                      Bytes(1000, "from the future");
  Model model = ParseModel(bytes);
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.model_version, 6);
  EXPECT_EQ(model.producer_name, "tool");
  EXPECT_EQ(model.producer_version, "1.0");
  EXPECT_EQ(model.domain, "org");
  EXPECT_EQ(model.OpsetVersion(""), 17);
  EXPECT_EQ(model.OpsetVersion("ai.onnx"), 17);
  EXPECT_EQ(model.OpsetVersion("local"), 1);
  EXPECT_EQ(model.OpsetVersion("other"), 0);
  ASSERT_EQ(model.metadata.size(), 1u);
  EXPECT_EQ(model.metadata[0].value, "value");

  EXPECT_EQ(model.graph.name, "g");
  ASSERT_EQ(model.graph.nodes.size(), 1u);
  const Node& clip = model.graph.nodes[0];
  EXPECT_EQ(clip.name, "n");
  EXPECT_EQ(clip.op_type, "Clip");
  EXPECT_EQ(clip.domain, "");
  EXPECT_EQ(clip.overload, "o");
  EXPECT_EQ(clip.inputs, (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(clip.outputs, (std::vector<std::string_view>{"y"}));
  EXPECT_EQ(TypeText(model.graph.inputs[0].type), "float[3, batch, ?, ?, ?]");
  EXPECT_EQ(TypeText(model.graph.outputs[0].type), "optional(seq(int64[...]))");
  EXPECT_EQ(TypeText(model.graph.value_infos[0].type), "map(string, float[3, batch, ?, ?, ?])");

  ASSERT_EQ(model.functions.size(), 1u);
  const Function& local = model.functions[0];
  EXPECT_EQ(local.name, "f");
  EXPECT_EQ(local.domain, "local");
  EXPECT_EQ(local.overload, "v");
  EXPECT_EQ(local.attributes, (std::vector<std::string_view>{"axis"}));
  ASSERT_EQ(local.default_attributes.size(), 1u);
  EXPECT_EQ(local.default_attributes[0].i, 4);
  EXPECT_EQ(local.nodes[0].op_type, "Relu");
  EXPECT_EQ(local.opsets[0].version, 15);
}

TEST(OnnxReader, ModelsWithoutOpsetsAreOfTheFirst) {
  EXPECT_EQ(ParseModel(Int(1, 2) + Bytes(7, "")).OpsetVersion(""), 1);
  EXPECT_EQ(ParseModel(Int(1, 3) + Bytes(7, "")).OpsetVersion(""), 0);
}

TEST(OnnxReader, Attributes) {
  std::string subgraph = NodeOf(Bytes(1, "a") + Int(3, 1));
  std::string attributes[] = {
      Bytes(1, "f") + Float(2, 1.5f) + Int(20, 1),
      Bytes(1, "i") + Int(3, -7),  // without a type, as before IR version 2
      Bytes(1, "s") + Bytes(4, "text") + Int(20, 3),
      Bytes(1, "t") + Bytes(5, TensorOf(ElemType::kInt8, {2}, Bytes(9, "ab"))) + Int(20, 4),
      Bytes(1, "g") + Bytes(6, subgraph) + Int(20, 5),
      Bytes(1, "floats") + Float(7, 1) + Bytes(7, Raw({2.f, 3.f})) + Int(20, 6),
      Bytes(1, "ints") + Int(8, 1) + Bytes(8, Varint(2) + Varint(300)) + Int(8, -1) + Int(20, 7),
      Bytes(1, "strings") + Bytes(9, "a") + Bytes(9, "") + Int(20, 8),
      Bytes(1, "empty") + Int(20, 7),
      Bytes(1, "ref") + Int(20, 4) + Bytes(21, "outer"),
      Bytes(1, "tp") + Bytes(14, Bytes(1, Int(1, 1))) + Int(20, 13),
  };
  std::string node = Bytes(4, "Any");
  for (const std::string& attribute : attributes) node += Bytes(5, attribute);
  std::string bytes = ModelOf(Bytes(1, node));
  Model model = ParseModel(bytes);
  const Node& any = model.graph.nodes[0];
  EXPECT_EQ(any.Find("f")->f, 1.5f);
  EXPECT_EQ(any.Find("i")->i, -7);
  EXPECT_EQ(any.Find("i")->kind, Attribute::Kind::kInt);
  EXPECT_EQ(any.Find("s")->s, "text");
  EXPECT_EQ(any.Find("t")->tensors.at(0).Data().bytes, "ab");
  EXPECT_EQ(any.Find("g")->graphs.at(0).nodes.at(0).name, "conv1");
  EXPECT_EQ(any.Find("floats")->floats, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(any.Find("ints")->ints, (std::vector<int64_t>{1, 2, 300, -1}));
  EXPECT_EQ(any.Find("strings")->strings, (std::vector<std::string_view>{"a", ""}));
  EXPECT_EQ(any.Find("empty")->kind, Attribute::Kind::kInts);
  EXPECT_EQ(any.Find("ref")->ref_attr_name, "outer");
  EXPECT_EQ(TypeText(any.Find("tp")->types.at(0)), "float[...]");
  EXPECT_EQ(any.Find("none"), nullptr);
}

TEST(OnnxReader, RawDataAndPackedFloatsAreViews) {
  std::string raw = TensorOf(ElemType::kFloat, {2}, Bytes(9, Raw({1.f, 2.f})));
  std::string packed = TensorOf(ElemType::kDouble, {2}, Bytes(10, Raw({1.0, 2.0})));
  for (const std::string* bytes : {&raw, &packed}) {
    Tensor tensor = ParseTensor(*bytes);
    TensorData data = tensor.Data();
    EXPECT_GE(data.bytes.data(), bytes->data());
    EXPECT_EQ(data.bytes.data() + data.bytes.size(), bytes->data() + bytes->size());
    EXPECT_EQ(data.decoded, nullptr);
  }
  EXPECT_EQ(DataOf(packed), Raw({1.0, 2.0}));
}

TEST(OnnxReader, TypedFieldsAreDecoded) {
  EXPECT_EQ(DataOf(TensorOf(ElemType::kFloat, {3}, Float(4, 1) + Bytes(4, Raw({2.f, 3.f})))),
            Raw({1.f, 2.f, 3.f}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kInt8, {3}, Int(5, 1) + Int(5, -128) + Int(5, 127))),
            Raw<int8_t>({1, -128, 127}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kUInt16, {2}, Bytes(5, Varint(65535) + Varint(1)))),
            Raw<uint16_t>({65535, 1}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kInt32, {2}, Int(5, -5) + Int(5, 0xffffffff))),
            Raw<int32_t>({-5, -1}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kInt64, {2}, Bytes(7, Varint(3) + Varint(~0ull)))),
            Raw<int64_t>({3, -1}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kUInt32, {1}, Int(11, 0xffffffff))),
            Raw<uint32_t>({0xffffffff}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kUInt64, {1}, Int(11, -1))), Raw<uint64_t>({~0ull}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kBool, {2, 1}, Int(5, 0) + Int(5, 7))), Raw<char>({0, 1}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kFloat16, {2}, Int(5, 0x3c00) + Int(5, 0xfc00))),
            Raw<uint16_t>({0x3c00, 0xfc00}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kFloat8E4M3FN, {1}, Int(5, 0x80))), "\x80");
  // Two to an entry.
  EXPECT_EQ(DataOf(TensorOf(ElemType::kInt4, {3}, Int(5, 0x21) + Int(5, 0x0f))), "\x21\x0f");
  EXPECT_EQ(DataOf(TensorOf(ElemType::kComplex64, {1}, Float(4, 1) + Float(4, 2))),
            Raw({1.f, 2.f}));
  // A scalar, and no elements at all.
  EXPECT_EQ(DataOf(TensorOf(ElemType::kInt64, {}, Int(7, 9))), Raw<int64_t>({9}));
  EXPECT_EQ(DataOf(TensorOf(ElemType::kFloat, {0, 5}, "")), "");
}

TEST(OnnxReader, RawBoolsAreZeroOrOne) {
  std::string bytes = TensorOf(ElemType::kBool, {3}, Bytes(9, Raw<char>({0, 1, 2})));
  EXPECT_EQ(DataOf(bytes), Raw<char>({0, 1, 1}));
}

TEST(OnnxReader, Strings) {
  std::string bytes = TensorOf(ElemType::kString, {2}, Bytes(6, "a") + Bytes(6, ""));
  Tensor tensor = ParseTensor(bytes);
  EXPECT_EQ(tensor.Strings(), (std::vector<std::string_view>{"a", ""}));
  EXPECT_EQ(tensor.NumBytes(), 0);
  EXPECT_THROW(tensor.Data(), Error);
  EXPECT_THROW(ParseTensor(TensorOf(ElemType::kInt8, {0}, "")).Strings(), Error);
}

TEST(OnnxReader, ElementTypes) {
  EXPECT_EQ(DataTypeOf(ElemType::kBfloat16), DataType::Bfloat16());
  EXPECT_EQ(DataTypeOf(ElemType::kInt4), DataType::Int(4));
  EXPECT_EQ(DataTypeOf(ElemType::kFloat8E5M2FNUZ), DataType::Float8E5M2FNUZ());
  EXPECT_EQ(DataTypeOf(ElemType::kFloat4E2M1), DataType::Float4E2M1FN());
  EXPECT_EQ(DataTypeOf(ElemType::kFloat8E8M0), std::nullopt);
  EXPECT_EQ(BitsOf(ElemType::kFloat4E2M1), 4);
  EXPECT_EQ(BitsOf(ElemType::kInt2), 2);
  EXPECT_EQ(NameOf(ElemType::kFloat8E8M0), "float8e8m0");
  EXPECT_EQ(NameOf(static_cast<ElemType>(99)), "type 99");
  for (int i = 1; i <= static_cast<int>(ElemType::kInt2); ++i) {
    auto type = static_cast<ElemType>(i);
    EXPECT_EQ(DataTypeOf(type).value_or(DataType(kTernTypeInt, BitsOf(type))).bits(), BitsOf(type))
        << i;
  }
}

// ---- what is refused

TEST(OnnxReader, OtherFilesAreNamed) {
  EXPECT_EQ(ErrorOf(""), "m.onnx: not an ONNX model: it is empty");
  Has(ErrorOf("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "git-lfs pointer");
  Has(ErrorOf("\n<!DOCTYPE html>"), "HTML");
  Has(ErrorOf("ir_version: 8\ngraph {\n}\n"), "protobuf's text format");
  Has(ErrorOf("hello\n"), "it is text");
  Has(ErrorOf("PK\3\4...."), "zip archive");
  // A graph of TensorFlow, whose first field is a node; a tensor; a message without a graph.
  EXPECT_EQ(ErrorOf(Bytes(1, Bytes(1, "n"))),
            "m.onnx: not an ONNX model, or damaged: at byte 0, in model: field 1 is bytes with a "
            "length; expected ir_version, a varint");
  Has(ErrorOf(TensorOf(ElemType::kFloat, {1}, Float(4, 1))), "expected producer_name");
  Has(ErrorOf(Int(1, 1) + Bytes(2, "x")), "there is no graph");
  Has(ErrorOf(ModelOf("") + Bytes(7, "")), "there are several graphs");
}

TEST(OnnxReader, EveryPrefixOfAModelIsRefused) {
  std::string bytes = Int(1, 8) + Bytes(8, Int(2, 17)) +
                      Bytes(7, NodeOf(Bytes(1, "a") + Bytes(8, Varint(300)) + Float(2, 1)));
  EXPECT_EQ(ErrorOf(bytes), "none");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(ErrorOf(bytes.substr(0, size)), "none") << size;
  Has(ErrorOf(bytes.substr(0, bytes.size() - 1)),
      "in model: field 7 has 29 bytes, but only 28 are left");
}

TEST(OnnxReader, MalformedFields) {
  EXPECT_EQ(
      ErrorOf(ModelOf(NodeOf(Bytes(1, "pads") + Bytes(8, "\x80")))),
      "m.onnx: not an ONNX model, or damaged: at byte 27, in model.graph.node[0].attribute[0] "
      "(node 'conv1' of type 'Conv', attribute 'pads'): a number in ints does not end");
  Has(ErrorOf(ModelOf(NodeOf(Bytes(7, "12345")))), "no whole floats");
  Has(ErrorOf(ModelOf(NodeOf(Bytes(3, "1")))), "expected i, a varint");
  Has(ErrorOf(ModelOf(NodeOf(Int(20, 99)))), "an attribute of type 99");
  Has(ErrorOf(ModelOf(NodeOf(Int(20, -1)))), "field type is 18446744073709551615");
  Has(ErrorOf(ModelOf(NodeOf(Int(20, 4)))), "an attribute of type tensor has none of it");
  Has(ErrorOf(ModelOf(Bytes(1, ""))), "a node has no op_type");
  Has(ErrorOf(Int(1, 8) + std::string("\x0b")), "field 1 is of the unknown wire type 3");
  Has(ErrorOf(Int(1, 8) + std::string("\0\1", 2)), "there is no field 0");
  Has(ErrorOf(Int(1, 8) + std::string(11, '\xff')), "the number of a field does not end");
}

TEST(OnnxReader, TensorsWithTheWrongData) {
  Has(TensorError(TensorOf(ElemType::kFloat, {3}, Bytes(9, Raw({1.f})))),
      "initializer[0] (initializer 'w'): the raw_data of a tensor are 4 bytes, and its dims take "
      "12 "
      "of type float");
  Has(TensorError(TensorOf(ElemType::kFloat, {3}, Float(4, 1))), "are 1, and its dims take 3");
  Has(TensorError(TensorOf(ElemType::kInt4, {3}, Int(5, 1))), "are 1, and its dims take 2");
  Has(TensorError(TensorOf(ElemType::kUInt8, {1}, Int(5, 300))), "values that uint8 does not have");
  Has(TensorError(TensorOf(ElemType::kUInt8, {1}, Int(5, -1))), "values that uint8 does not have");
  Has(TensorError(TensorOf(ElemType::kInt8, {1}, Int(5, 128))), "values that int8 does not have");
  Has(TensorError(TensorOf(ElemType::kUInt32, {1}, Int(11, -1))), "values that uint32 does");
  Has(TensorError(TensorOf(ElemType::kInt64, {1}, Bytes(7, "\x80"))), "int64_data");
  Has(TensorError(TensorOf(ElemType::kFloat, {-1}, "")), "has the dim -1");
  Has(TensorError(TensorOf(ElemType::kFloat, {1ll << 40, 1ll << 40}, "")), "too large");
  Has(TensorError(TensorOf(ElemType::kFloat, {0, 1ll << 62}, "")), "too large");
  Has(TensorError(TensorOf(static_cast<ElemType>(99), {0}, "")), "elements of type type 99");
  Has(TensorError(TensorOf(ElemType::kUndefined, {0}, "")), "elements of type undefined");
  Has(TensorError(TensorOf(ElemType::kString, {1}, Bytes(9, "a"))), "expected string_data");
  Has(TensorError(TensorOf(ElemType::kFloat, {0}, Bytes(3, ""))), "segment");
}

TEST(OnnxReader, SparseTensorsAreNamed) {
  std::string sparse = Bytes(1, TensorOf(ElemType::kFloat, {1}, Float(4, 1), "weights"));
  Has(ErrorOf(ModelOf(Bytes(15, sparse))), "tensor 'weights' is sparse");
  Has(ErrorOf(ModelOf(NodeOf(Bytes(22, sparse)))), "(node 'conv1' of type 'Conv')");
}

TEST(OnnxReader, DepthIsBounded) {
  std::string graph;
  for (int i = 0; i < 32; ++i) graph = NodeOf(Bytes(6, graph) + Int(20, 5));
  EXPECT_EQ(ErrorOf(ModelOf(graph)), "none");
  for (int i = 0; i < 1000; ++i) graph = NodeOf(Bytes(6, graph) + Int(20, 5));
  Has(ErrorOf(ModelOf(graph)), "more than 100 deep");
  std::string type;
  for (int i = 0; i < 1000; ++i) type = Bytes(4, Bytes(1, type));
  Has(ErrorOf(ModelOf(Bytes(11, Bytes(2, type)))), "more than 100 deep");
}

TEST(OnnxReader, MemoryIsBounded) {
  // Two bytes each, and forty times that in memory.
  std::string inputs;
  for (std::string input = Bytes(11, ""); inputs.size() < 6'000'000;) inputs += input;
  Has(ErrorOf(ModelOf(inputs)), "more memory than 64 MB");
}

TEST(OnnxReader, NamesInMessagesStayOnTheirLine) {
  std::string error =
      TensorError(TensorOf(ElemType::kFloat, {1}, "", "a\n\x1b[1m" + std::string(100000, 'x')));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_LT(error.size(), 500u);
}

// ---- files

class OnnxFiles : public testing::Test {
 protected:
  OnnxFiles() { std::filesystem::create_directory(folder_ / "m"); }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  // A model m/m.onnx with one tensor of three floats in that file.
  void WriteExternal(const std::string& location, const std::string& more = "") {
    auto entry = [](const std::string& key, const std::string& value) {
      return Bytes(13, Bytes(1, key) + Bytes(2, value));
    };
    std::string data = entry("location", location) + Int(14, 1);
    if (!more.empty()) data += entry(more.substr(0, 6), more.substr(7));
    Write("m/m.onnx", ModelOf(Bytes(5, TensorOf(ElemType::kFloat, {3}, data))));
  }
  std::string path() const { return folder_ / "m/m.onnx"; }
  std::string Error() const {
    try {
      ReadModel(path());
    } catch (const tern::Error& error) {
      EXPECT_EQ(error.kind(), "ValueError");
      EXPECT_EQ(error.message().rfind(path() + ": ", 0), 0u) << error.message();
      return error.message();
    }
    return "none";
  }

  runtime::TempDirectory directory_;
  std::filesystem::path folder_ = directory_.path();
};

TEST_F(OnnxFiles, TensorsKeepTheirFileMapped) {
  Write("m/m.onnx", ModelOf(Bytes(5, TensorOf(ElemType::kFloat, {1}, Bytes(9, Raw({5.f}))))));
  TensorData data;
  {
    Model model = ReadModel(path());
    EXPECT_EQ(model.path, path());
    data = model.graph.initializers[0].Data();
  }
  EXPECT_EQ(data.bytes, Raw({5.f}));
  ASSERT_NE(data.file, nullptr);
  EXPECT_LT(data.bytes.data() - data.file->bytes().data(), 64);
}

TEST_F(OnnxFiles, ExternalData) {
  Write("m/data.bin", Raw({0.f, 1.f, 2.f, 3.f}));
  WriteExternal("data.bin", "offset 4");
  Model model = ReadModel(path());
  const Tensor& tensor = model.graph.initializers[0];
  EXPECT_TRUE(tensor.is_external);
  EXPECT_EQ(tensor.Data().bytes, Raw({1.f, 2.f, 3.f}));
  EXPECT_NE(tensor.Data().file, model.file);

  std::filesystem::create_directory(folder_ / "m/sub");
  Write("m/sub/data.bin", Raw({7.f, 8.f, 9.f}));
  WriteExternal("./sub/data.bin", "length 12");
  EXPECT_EQ(ReadModel(path()).graph.initializers[0].Data().bytes, Raw({7.f, 8.f, 9.f}));
}

TEST_F(OnnxFiles, ExternalDataOutOfBounds) {
  Write("m/data.bin", Raw({0.f, 1.f, 2.f, 3.f}));
  for (const char* more : {"offset 8", "offset 17", "offset 18446744073709551615", "length 11",
                           "length 13", "length 18446744073709551615"}) {
    WriteExternal("data.bin", more);
    Has(Error(), "external data of tensor 'w': its elements take 12 bytes");
  }
  for (const char* more : {"offset -1", "offset 1x", "length ", "offset 99999999999999999999"}) {
    WriteExternal("data.bin", more);
    Has(Error(), "and no number");
  }
}

TEST_F(OnnxFiles, ExternalDataStaysInTheFolder) {
  Write("secret", Raw({1.f, 2.f, 3.f}));
  Write("m/data.bin", Raw({1.f, 2.f, 3.f}));
  std::filesystem::create_symlink("../secret", folder_ / "m/out");
  std::filesystem::create_symlink("..", folder_ / "m/up");
  std::filesystem::create_symlink("data.bin", folder_ / "m/in");
  std::string absolute = folder_ / "m/data.bin";
  for (const std::string& location : {std::string("../secret"), std::string("a/../data.bin"),
                                      absolute, std::string(), std::string("data.bin\0x", 10)}) {
    WriteExternal(location);
    Has(Error(), "expected a name in the folder of the file that names it");
  }
  for (const char* location : {"out", "up/secret"}) {
    WriteExternal(location);
    Has(Error(), "is a link that leads out of folder");
  }
  WriteExternal("in");
  EXPECT_EQ(Error(), "none");
  WriteExternal("missing.bin");
  Has(Error(), "external data of tensor 'w': cannot read \"missing.bin\" in folder " +
                   (folder_ / "m").string() + ": No such file");
  std::filesystem::create_directory(folder_ / "m/folder");
  WriteExternal("folder");
  Has(Error(), "it is no regular file");
}

// As caches have them: names in one folder, and the files in another.
TEST_F(OnnxFiles, ModelAndDataMayBeLinksToOneFolder) {
  Write("m/data.bin", Raw({1.f, 2.f, 3.f}));
  WriteExternal("data.link");
  std::filesystem::create_directory(folder_ / "links");
  std::filesystem::create_symlink("../m/m.onnx", folder_ / "links/m.onnx");
  std::filesystem::create_symlink("../m/data.bin", folder_ / "links/data.link");
  Model model = ReadModel(folder_ / "links/m.onnx");
  EXPECT_EQ(model.graph.initializers[0].Data().bytes, Raw({1.f, 2.f, 3.f}));
}

TEST_F(OnnxFiles, ModelsInMemoryHaveNoExternalData) {
  Write("m/data.bin", Raw({1.f, 2.f, 3.f}));
  WriteExternal("data.bin");
  std::string bytes(ReadModel(path()).file->bytes());
  Has(ErrorOf(bytes), "of a model that is in no folder");
}

TEST_F(OnnxFiles, TensorFiles) {
  Write("m/m.onnx", TensorOf(ElemType::kInt64, {2}, Bytes(9, Raw<int64_t>({4, 5}))));
  EXPECT_EQ(ReadTensor(path()).Data().bytes, Raw<int64_t>({4, 5}));
  Has(Error(), "not an ONNX model");
}

TEST_F(OnnxFiles, MissingModel) {
  try {
    ReadModel(path());
    FAIL();
  } catch (const tern::Error& error) {
    Has(error.message(), "m.onnx: No such file or directory");
  }
}

}  // namespace
}  // namespace tern::frontend::onnx
