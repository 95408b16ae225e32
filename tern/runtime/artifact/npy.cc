// SPDX-License-Identifier: Apache-2.0
//
// The format: magic, version, length of the header, a Python dictionary literal, the elements.
#include "tern/runtime/artifact/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

#include "tern/ffi/escape_text.h"
#include "tern/runtime/artifact/file_bytes.h"

namespace tern::runtime {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads the one dictionary that NumPy writes, not Python.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  Header Read() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    Expect('{');
    while (!Accept('}')) {
      std::string key = Quoted();
      Expect(':');
      if (key == "descr" && !has_descr) {
        if (Peek() == '[') Fail("structured elements are not supported");
        header.descr = Quoted();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = Word() == "True";
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = Tuple();
        has_shape = true;
      } else {
        Fail("unexpected key '" + key + "'");
      }
      if (!Accept(',') && Peek() != '}') Fail("expected ',' or '}'");
    }
    if (!has_descr || !has_order || !has_shape) Fail("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error("ValueError", "bad .npy header at offset " + std::to_string(at_) + ": " + what);
  }
  char Peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Accept(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) Fail(std::string("expected '") + c + "'");
  }
  std::string Quoted() {
    char quote = Peek();
    if (quote != '\'' && quote != '"') Fail("expected a string");
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) Fail("the string does not end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  std::string_view Word() {
    for (std::string_view word : {"True", "False"}) {
      Peek();
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word;
    }
    Fail("expected True or False");
  }
  std::vector<int64_t> Tuple() {
    std::vector<int64_t> items;
    Expect('(');
    while (!Accept(')')) {
      Peek();
      int64_t item = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), item);
      if (error != std::errc() || item < 0) Fail("expected an extent");
      at_ = static_cast<size_t>(end - text_.data());
      items.push_back(item);
      if (!Accept(',') && Peek() != ')') Fail("expected ',' or ')'");
    }
    return items;
  }

  std::string_view text_;
  size_t at_ = 0;
};

DataType TypeFromDescr(const std::string& descr) {
  std::string_view text = descr;
  TERN_CHECK(!text.starts_with('>')) << "big-endian elements (" << descr << ") are not supported";
  if (!text.empty() && std::string_view("<=|").find(text[0]) != std::string_view::npos)
    text.remove_prefix(1);
  if (text == "b1") return DataType::Bool();
  for (int bits : {8, 16, 32, 64}) {
    std::string bytes = std::to_string(bits / 8);
    if (text == "i" + bytes) return DataType::Int(bits);
    if (text == "u" + bytes) return DataType::UInt(bits);
    if (text == "f" + bytes && bits != 8) return DataType::Float(bits);
  }
  TERN_THROW(ValueError) << "elements of type '" << descr
                         << "' are not supported: bool, integers and floats of up to 64 bits are";
  return {};
}

std::string DescrFromType(DataType dtype) {
  TERN_CHECK(dtype.is_scalar() && !dtype.is_handle() && TypeInNpy(dtype) == dtype)
      << "a .npy file cannot hold elements of type " << dtype.str();
  char letter = dtype.is_bool() ? 'b' : dtype.is_int() ? 'i' : dtype.is_uint() ? 'u' : 'f';
  std::string descr{dtype.bytes() == 1 ? '|' : '<', letter};
  return descr + std::to_string(dtype.bytes());
}

std::vector<int64_t> ColumnMajor(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides;
  int64_t stride = 1;
  for (int64_t extent : shape) {
    strides.push_back(stride);
    // The caller has counted the elements; those of an empty tensor may be beyond counting.
    if (__builtin_mul_overflow(stride, extent, &stride)) stride = 0;
  }
  return strides;
}

}  // namespace

Tensor ParseNpy(std::string_view bytes, const NeedBytes& need) {
  ByteReader reader(bytes, "the .npy file");
  auto take = [&](uint64_t size) {
    std::string_view taken = reader.Take(size);
    if (need) need(static_cast<uint64_t>(taken.data() - bytes.data()), size);
    return taken;
  };
  // Magic, version, and the length of the header.
  if (need) need(0, std::min<uint64_t>(bytes.size(), kMagic.size() + 6));
  TERN_CHECK(bytes.starts_with(kMagic)) << "not a .npy file";
  reader.Take(kMagic.size());
  int major = reader.Int<uint8_t>();
  reader.Int<uint8_t>();
  TERN_CHECK(major >= 1 && major <= 3)
      << "version " << major << " of the .npy format is not supported";
  uint64_t size = major == 1 ? reader.Int<uint16_t>() : reader.Int<uint32_t>();
  Header header = HeaderReader(take(size)).Read();
  DataType dtype = TypeFromDescr(header.descr);

  // The file is as long as the header says before memory is asked for: to lie costs nothing.
  uint64_t expected = static_cast<uint64_t>(dtype.bytes());
  for (int64_t extent : header.shape)
    TERN_CHECK(!__builtin_mul_overflow(expected, static_cast<uint64_t>(extent), &expected))
        << "the .npy file's shape is too large";
  std::string_view data = reader.Take(expected);
  reader.ExpectEnd();
  if (need && expected > 0) need(bytes.size() - expected, expected);
  Tensor tensor =
      Tensor::Empty(header.shape, dtype, {kTernDeviceCpu, 0},
                    {header.fortran_order ? ColumnMajor(header.shape) : std::vector<int64_t>()});
  if (!data.empty()) std::memcpy(tensor->data(), data.data(), data.size());
  if (!header.fortran_order) return tensor;
  Tensor row_major = Tensor::Empty(header.shape, dtype);
  CopyElements(tensor, row_major);
  return row_major;
}

Tensor ReadNpy(const std::string& path) {
  PartlyReadFile file(path);
  try {
    return ParseNpy(file.bytes(), [&](uint64_t offset, uint64_t size) { file.Need(offset, size); });
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + ffi::Escaped(error.message()));
  } catch (const std::bad_alloc&) {
    throw Error("RuntimeError", path + ": there is no memory for its elements; the file has " +
                                    std::to_string(file.bytes().size()) + " bytes");
  }
}

void WriteNpy(const std::string& path, const Tensor& tensor) {
  TERN_ICHECK(tensor->device().type == kTernDeviceCpu) << "only host tensors are written";
  if (DataType held = TypeInNpy(tensor->dtype()); held != tensor->dtype()) {
    Tensor wide = Tensor::Empty(tensor->shape(), held);
    ConvertElements(tensor, wide);
    return WriteNpy(path, wide);
  }
  if (!tensor->is_compact()) {
    Tensor compact = Tensor::Empty(tensor->shape(), tensor->dtype());
    CopyElements(tensor, compact);
    return WriteNpy(path, compact);
  }
  std::string shape;
  for (int64_t extent : tensor->shape()) shape += std::to_string(extent) + ",";
  std::string header = "{'descr': '" + DescrFromType(tensor->dtype()) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // The elements start at a multiple of 64.
  header.resize((kMagic.size() + 4 + header.size() + 1 + 63) / 64 * 64 - kMagic.size() - 4, ' ');
  header.back() = '\n';
  std::string bytes(kMagic);
  bytes += std::string("\1\0", 2);
  AppendLe<uint16_t>(static_cast<uint16_t>(header.size()), &bytes);
  bytes += header;
  PendingFile file(path);
  file.Write(bytes);
  file.Write({tensor.as<char>(), tensor->num_bytes()});
  file.Finish();
}

}  // namespace tern::runtime
