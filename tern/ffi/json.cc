// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/json.h"

#include <charconv>
#include <cmath>

namespace tern::ffi {
namespace {

// Deep enough for what Tern writes, far from the end of any thread's stack.
constexpr int kMaxDepth = 100;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Any Document() {
    Any value = Value(0);
    SkipSpace();
    if (at_ != text_.size()) Fail("expected the end of the text");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const { FailAt(at_, what); }
  [[noreturn]] static void FailAt(size_t offset, const std::string& what) {
    throw Error("ValueError", "bad JSON at offset " + std::to_string(offset) + ": " + what);
  }

  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  bool Accept(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (!AtEnd() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool AcceptWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Any Value(int depth) {
    SkipSpace();
    if (AtEnd()) Fail("the text ends where a value should be");
    if (depth == kMaxDepth) Fail("nested deeper than " + std::to_string(kMaxDepth));
    switch (Peek()) {
      case '{':
        return Object(depth);
      case '[':
        return List(depth);
      case '"':
        return String();
      default:
        break;
    }
    if (AcceptWord("null")) return {};
    if (AcceptWord("true")) return true;
    if (AcceptWord("false")) return false;
    if (Peek() == '-' || IsDigit(Peek())) return Number();
    Fail("expected a value");
  }

  Any Object(int depth) {
    ++at_;
    Map map = MakeMap();
    SkipSpace();
    if (Accept('}')) return map;
    do {
      SkipSpace();
      size_t start = at_;
      if (Peek() != '"') Fail("expected a key in quotes");
      std::string key = String();
      SkipSpace();
      if (!Accept(':')) Fail("expected ':' after a key");
      Any value = Value(depth + 1);
      if (!map->items.try_emplace(key, std::move(value)).second)
        FailAt(start, "key \"" + key + "\" stands twice");
      SkipSpace();
    } while (Accept(','));
    if (!Accept('}')) Fail("expected ',' or '}'");
    return map;
  }

  Any List(int depth) {
    ++at_;
    std::vector<Any> items;
    SkipSpace();
    if (Accept(']')) return MakeArray({});
    do {
      items.push_back(Value(depth + 1));
      SkipSpace();
    } while (Accept(','));
    if (!Accept(']')) Fail("expected ',' or ']'");
    return MakeArray(std::move(items));
  }

  std::string String() {
    size_t start = at_++;
    std::string out;
    while (!AtEnd()) {
      char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) Fail("a control character must be escaped");
      ++at_;
      if (c == '"') return out;
      if (c == '\\')
        Escape(&out);
      else
        out += c;
    }
    FailAt(start, "the string does not end");
  }

  void Escape(std::string* out) {
    static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    size_t start = at_ - 1;
    char c = Peek();
    if (size_t i = kFrom.find(c); !AtEnd() && i != std::string_view::npos) {
      ++at_;
      *out += kTo[i];
    } else if (Accept('u')) {
      uint32_t code = Hex4(start);
      if (code >= 0xdc00 && code < 0xe000) FailAt(start, "half of a surrogate pair");
      if (code >= 0xd800 && code < 0xdc00) {
        if (!AcceptWord("\\u")) FailAt(start, "half of a surrogate pair");
        uint32_t low = Hex4(start);
        if (low < 0xdc00 || low >= 0xe000) FailAt(start, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      }
      AppendUtf8(code, out);
    } else {
      FailAt(start, "unknown escape");
    }
  }

  uint32_t Hex4(size_t start) {
    uint32_t code = 0;
    std::string_view digits = text_.substr(at_, 4);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
      FailAt(start, "\\u needs four hexadecimal digits");
    at_ += 4;
    return code;
  }

  static void AppendUtf8(uint32_t code, std::string* out) {
    auto put = [&](uint32_t byte) { *out += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else {
      if (code < 0x10000) {
        put(0xe0 | code >> 12);
      } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
      }
      put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  void Digits() {
    if (!IsDigit(Peek())) Fail("expected a digit");
    while (IsDigit(Peek())) ++at_;
  }

  Any Number() {
    size_t start = at_;
    bool is_float = false;
    Accept('-');
    if (!Accept('0')) Digits();
    if (IsDigit(Peek())) Fail("a number may not start with 0");
    if (Accept('.')) {
      is_float = true;
      Digits();
    }
    if (Peek() == 'e' || Peek() == 'E') {
      is_float = true;
      ++at_;
      if (!Accept('-')) Accept('+');
      Digits();
    }
    const char *first = text_.data() + start, *last = text_.data() + at_;
    if (is_float) {
      double value = 0;
      if (std::from_chars(first, last, value).ec != std::errc())
        FailAt(start, "the number is out of the range of float64");
      return value;
    }
    int64_t value = 0;
    if (std::from_chars(first, last, value).ec != std::errc())
      FailAt(start, "the integer is out of the range of int64");
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

class Writer {
 public:
  explicit Writer(bool pretty) : pretty_(pretty) {}

  void Value(const AnyView& value, int depth) {
    switch (value.type_index()) {
      case kTernNone:
        out_ += "null";
        return;
      case kTernBool:
        out_ += value.As<bool>() ? "true" : "false";
        return;
      case kTernInt:
        out_ += std::to_string(value.raw().v_int);
        return;
      case kTernFloat:
        return Float(value.raw().v_float);
      case kTernRawStr:
      case kTernSmallStr:
      case kTernStr:
        return String(value.As<std::string>());
      case kTernArray:
        return List(*value.As<Array>(), depth);
      case kTernMap:
        return Object(*value.As<Map>(), depth);
      default:
        TERN_THROW(TypeError) << "JSON cannot hold " << Describe(value.raw());
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  void Float(double value) {
    TERN_CHECK(std::isfinite(value)) << "JSON cannot hold " << value;
    char text[32];
    std::string_view digits(text, std::to_chars(text, text + sizeof text, value).ptr - text);
    out_ += digits;
    // So that it is read back as a float.
    if (digits.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  void String(std::string_view text) {
    static constexpr char kHex[] = "0123456789abcdef";
    out_ += '"';
    for (char c : text) {
      if (c == '"' || c == '\\')
        (out_ += '\\') += c;
      else if (c == '\n')
        out_ += "\\n";
      else if (static_cast<unsigned char>(c) < 0x20)
        ((out_ += "\\u00") += kHex[c >> 4]) += kHex[c & 15];
      else
        out_ += c;
    }
    out_ += '"';
  }

  void NewLine(int depth) {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(2 * static_cast<size_t>(depth), ' ');
  }

  void List(const ArrayObj& array, int depth) {
    out_ += '[';
    for (size_t i = 0; i < array.size(); ++i) {
      if (i) out_ += ',';
      NewLine(depth + 1);
      Value(array[i], depth + 1);
    }
    if (array.size()) NewLine(depth);
    out_ += ']';
  }

  void Object(const MapObj& map, int depth) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : map.items) {
      if (!std::exchange(first, false)) out_ += ',';
      NewLine(depth + 1);
      String(key);
      out_ += pretty_ ? ": " : ":";
      Value(value, depth + 1);
    }
    if (!first) NewLine(depth);
    out_ += '}';
  }

  bool pretty_;
  std::string out_;
};

}  // namespace

Any ParseJson(std::string_view text) { return Reader(text).Document(); }

std::string WriteJson(const AnyView& value, bool pretty) {
  Writer writer(pretty);
  writer.Value(value, 0);
  return writer.Take();
}

}  // namespace tern::ffi
