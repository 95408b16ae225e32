// SPDX-License-Identifier: Apache-2.0
//
// The one exception type of Tern, and the macros that throw it. Header-only, so that plugins can
// use it inside.
#ifndef TERN_FFI_ERROR_H_
#define TERN_FFI_ERROR_H_

#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tern {

// An error with a kind (ValueError, TypeError, RuntimeError, InternalError, ...), a message that
// starts lower-case and names the thing, and the context that callers added on the way up,
// innermost first.
class Error : public std::exception {
 public:
  Error(std::string kind, std::string message)
      : kind_(std::move(kind)), message_(std::move(message)) {
    Render();
  }

  const std::string& kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& context() const { return context_; }
  // The message followed by one line "  while <context>" per context.
  const char* what() const noexcept override { return rendered_.c_str(); }

  Error& AddContext(std::string context) {
    context_.push_back(std::move(context));
    Render();
    return *this;
  }

 private:
  void Render() {
    rendered_ = message_;
    for (const std::string& line : context_) rendered_ += "\n  while " + line;
  }

  std::string kind_, message_, rendered_;
  std::vector<std::string> context_;
};

// Runs `body`; an Error that leaves it carries `context` ("loading m.so").
template <class Body>
decltype(auto) WithContext(const std::string& context, Body&& body) {
  try {
    return body();
  } catch (Error& error) {
    error.AddContext(context);
    throw;
  }
}

namespace detail {

// Collects a message and throws it at the end of the full expression.
class ErrorStream {
 public:
  explicit ErrorStream(const char* kind, const char* prefix = "") : kind_(kind) {
    stream_ << prefix;
  }
  ErrorStream(const ErrorStream&) = delete;
  ErrorStream& operator=(const ErrorStream&) = delete;
  [[noreturn]] ~ErrorStream() noexcept(false) { throw Error(kind_, stream_.str()); }
  std::ostream& stream() { return stream_; }

 private:
  const char* kind_;
  std::ostringstream stream_;
};

}  // namespace detail
}  // namespace tern

#define TERN_STRINGIFY_(x) #x
#define TERN_STRINGIFY(x) TERN_STRINGIFY_(x)

// TERN_THROW(ValueError) << "...";
#define TERN_THROW(kind) ::tern::detail::ErrorStream(#kind).stream()

// For mistakes of the user: bad files, shapes, flags, programs.
#define TERN_CHECK(cond) \
  if (cond) {            \
  } else                 \
    TERN_THROW(ValueError)

// For mistakes of ours.
#define TERN_ICHECK(cond)                                                                        \
  if (cond) {                                                                                    \
  } else                                                                                         \
    ::tern::detail::ErrorStream("InternalError", "bug in Tern, please report it: " __FILE__      \
                                                 ":" TERN_STRINGIFY(__LINE__) ": !(" #cond ") ") \
        .stream()

#endif  // TERN_FFI_ERROR_H_
