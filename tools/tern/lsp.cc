// SPDX-License-Identifier: Apache-2.0
//
// tern lsp: the Language Server Protocol over standard input and output. Documents are sent whole;
// mistakes are published as the text changes.
#include <cstdio>
#include <iostream>
#include <memory>

#include "tern/compile.h"
#include "tern/ffi/json.h"
#include "tools/tern/commands.h"
#include "tools/tern/lsp_document.h"

namespace tern::tools {
namespace {

using ffi::Any;
using ffi::Map;

// Of JSON-RPC.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
              kInvalidParams = -32602;
constexpr size_t kMostBytes = size_t{64} << 20;  // of a message

Any Object(std::map<std::string, Any, std::less<>> members) {
  return Any(ffi::MakeMap(std::move(members)));
}

Any PositionJson(LspPosition position) {
  return Object(
      {{"line", Any(int64_t{position.line})}, {"character", Any(int64_t{position.character})}});
}
Any RangeJson(const LspRange& range) {
  return Object({{"start", PositionJson(range.start)}, {"end", PositionJson(range.end)}});
}

// A member of an object, or of one in it: Get(message, "params", "textDocument", "uri").
template <class... Keys>
Any Get(const Any& value, std::string_view key, const Keys&... keys) {
  auto map = value.TryAs<Map>();
  const Any* member = map ? (*map)->Find(key) : nullptr;
  TERN_CHECK(member) << "the message has no " << key;
  if constexpr (sizeof...(keys) > 0)
    return Get(*member, keys...);
  else
    return *member;
}

// "file:///a%20b.tir" -> "/a b.tir"; other addresses are names.
std::string PathOf(const std::string& uri) {
  constexpr std::string_view kFile = "file://";
  if (!uri.starts_with(kFile)) return uri;
  std::string path;
  for (size_t i = kFile.size(); i < uri.size(); ++i) {
    if (uri[i] != '%' || i + 2 >= uri.size()) {
      path += uri[i];
      continue;
    }
    path += static_cast<char>(std::stoi(uri.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return path;
}

class Server {
 public:
  int Run() {
    while (std::optional<std::string> text = Read()) {
      if (Answer(*text)) return was_shut_down_ ? 0 : 1;
    }
    return was_shut_down_ ? 0 : 1;
  }

 private:
  // The content of the next message; none at the end of the input.
  static std::optional<std::string> Read() {
    size_t length = 0;
    for (std::string line; std::getline(std::cin, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.empty()) {
        if (length == 0 || length > kMostBytes) return std::nullopt;
        std::string text(length, '\0');
        if (!std::cin.read(text.data(), static_cast<std::streamsize>(length))) return std::nullopt;
        return text;
      }
      constexpr std::string_view kLength = "Content-Length:";
      if (line.starts_with(kLength))
        length = std::strtoull(line.c_str() + kLength.size(), nullptr, 10);
    }
    return std::nullopt;
  }

  static void Send(std::map<std::string, Any, std::less<>> message) {
    message["jsonrpc"] = Any("2.0");
    std::string text = ffi::WriteJson(Any(ffi::MakeMap(std::move(message))));
    std::printf("Content-Length: %zu\r\n\r\n%s", text.size(), text.c_str());
    std::fflush(stdout);
  }
  static void SendError(const Any& id, int code, const std::string& message) {
    Send(
        {{"id", id}, {"error", Object({{"code", Any(int64_t{code})}, {"message", Any(message)}})}});
  }

  // Whether the server is to end.
  bool Answer(const std::string& text) {
    Any message, id;
    try {
      message = ffi::ParseJson(text);
    } catch (const Error& error) {
      SendError(Any(), kParseError, error.message());
      return false;
    }
    auto map = message.TryAs<Map>();
    const Any* given = map ? (*map)->Find("id") : nullptr;
    const Any* method = map ? (*map)->Find("method") : nullptr;
    if (given) id = *given;
    if (!method || !method->TryAs<std::string>()) {
      if (given) SendError(id, kInvalidRequest, "the message has no method");
      return false;
    }
    std::string name = method->As<std::string>();
    if (name == "exit") return true;
    try {
      if (!given)
        Notify(name, message);
      else if (std::optional<Any> result = Request(name, message))
        Send({{"id", id}, {"result", *result}});
      else
        SendError(id, kMethodNotFound, "there is no method " + name);
    } catch (const std::exception& error) {
      if (given) SendError(id, kInvalidParams, error.what());
    }
    return false;
  }

  std::optional<Any> Request(const std::string& name, const Any& message) {
    if (name == "initialize") return Capabilities();
    if (name == "shutdown") {
      was_shut_down_ = true;
      return Any();
    }
    if (name == "textDocument/hover") {
      std::optional<std::string> text = DocumentOf(message).Hover(PositionOf(message));
      if (!text) return Any();
      return Object({{"contents", Object({{"kind", Any("markdown")}, {"value", Any(*text)}})}});
    }
    if (name == "textDocument/definition") {
      std::optional<LspRange> range = DocumentOf(message).DefinitionOf(PositionOf(message));
      if (!range) return Any();
      return Object(
          {{"uri", Get(message, "params", "textDocument", "uri")}, {"range", RangeJson(*range)}});
    }
    if (name == "textDocument/documentSymbol") return SymbolsJson(DocumentOf(message));
    return std::nullopt;
  }

  void Notify(const std::string& name, const Any& message) {
    if (name == "textDocument/didOpen") {
      Open(Get(message, "params", "textDocument", "uri").As<std::string>(),
           Get(message, "params", "textDocument", "text").As<std::string>());
    } else if (name == "textDocument/didChange") {
      ffi::Array changes = Get(message, "params", "contentChanges").As<ffi::Array>();
      if (changes->size() == 0) return;
      Open(Get(message, "params", "textDocument", "uri").As<std::string>(),
           Get((*changes)[changes->size() - 1], "text").As<std::string>());
    } else if (name == "textDocument/didClose") {
      std::string uri = Get(message, "params", "textDocument", "uri").As<std::string>();
      documents_.erase(uri);
      Publish(uri, {});
    }
  }

  void Open(const std::string& uri, const std::string& text) {
    auto document = std::make_unique<LspDocument>(PathOf(uri), text);
    std::vector<Any> items;
    for (const LspDocument::Mistake& mistake : document->Mistakes())
      items.push_back(Object({{"range", RangeJson(mistake.range)},
                              {"severity", Any(int64_t{1})},
                              {"source", Any("tern")},
                              {"message", Any(mistake.message)}}));
    documents_[uri] = std::move(document);
    Publish(uri, std::move(items));
  }
  static void Publish(const std::string& uri, std::vector<Any> items) {
    Send({{"method", Any("textDocument/publishDiagnostics")},
          {"params",
           Object({{"uri", Any(uri)}, {"diagnostics", Any(ffi::MakeArray(std::move(items)))}})}});
  }

  static Any Capabilities() {
    constexpr int64_t kFullText = 1;
    return Object(
        {{"capabilities", Object({{"textDocumentSync", Any(kFullText)},
                                  {"hoverProvider", Any(true)},
                                  {"definitionProvider", Any(true)},
                                  {"documentSymbolProvider", Any(true)}})},
         {"serverInfo", Object({{"name", Any("tern")}, {"version", Any(TERN_VERSION)}})}});
  }

  // Blocks are children of their functions.
  static Any SymbolsJson(const LspDocument& document) {
    constexpr int64_t kFunction = 12, kObject = 19;
    struct Item {
      std::map<std::string, Any, std::less<>> members;
      std::vector<Any> children;
    };
    std::vector<Item> items;
    for (const LspDocument::Symbol& symbol : document.Symbols()) {
      std::map<std::string, Any, std::less<>> members = {
          {"name", Any(symbol.name)},
          {"detail", Any(symbol.detail)},
          {"kind", Any(symbol.is_function ? kFunction : kObject)},
          {"range", RangeJson(symbol.range)},
          {"selectionRange", RangeJson(symbol.name_range)}};
      if (symbol.is_function || items.empty())
        items.push_back({std::move(members), {}});
      else
        items.back().children.push_back(Object(std::move(members)));
    }
    std::vector<Any> result;
    for (Item& item : items) {
      item.members["children"] = Any(ffi::MakeArray(std::move(item.children)));
      result.push_back(Object(std::move(item.members)));
    }
    return Any(ffi::MakeArray(std::move(result)));
  }

  const LspDocument& DocumentOf(const Any& message) const {
    std::string uri = Get(message, "params", "textDocument", "uri").As<std::string>();
    auto found = documents_.find(uri);
    TERN_CHECK(found != documents_.end()) << "the document " << uri << " is not open";
    return *found->second;
  }
  static LspPosition PositionOf(const Any& message) {
    auto number = [&](const char* name) {
      return static_cast<int>(Get(message, "params", "position", name).As<int64_t>());
    };
    return {number("line"), number("character")};
  }

  std::map<std::string, std::unique_ptr<LspDocument>> documents_;
  bool was_shut_down_ = false;
};

}  // namespace

int Lsp() { return Server().Run(); }

}  // namespace tern::tools
