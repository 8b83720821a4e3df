// Errors of the run-time parts of Tenon: devices, files, training loops.
//
// A function that can fail returns a Status, or a Result<T> when it also has a value. Neither can
// be ignored. Building a model is different: there a mistake is a programming error in the model,
// so the model-building functions (tensor.h, ops.h, layers.h) throw tenon::Error, which carries a
// Status. All of it is safe to copy between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tenon {

// What went wrong. Up to kInternal these are the C ABI's numbers; a device gives none of the others.
enum class Code : int32_t {
  kOk = 0,
  kInvalid = 1,      // the caller's input is wrong; the message says what was expected and found
  kUnsupported = 2,  // understood, but this device or version cannot do it
  kUnavailable = 3,  // no such hardware, file or entry here
  kOutOfMemory = 4,
  kDeviceLost = 5,  // close the device, open it again, restore the last checkpoint
  kTimeout = 6,
  kAbi = 7,           // a plugin broke the contract
  kInternal = 8,      // a bug in Tenon or in a plugin
  kInterrupted = 64,  // ended early because the caller's `interrupted` asked for it; nothing is wrong
};

// "invalid", "unsupported", ...
std::string_view code_name(Code code);

// Where a step failed on a device, as far as the device says.
struct FailurePlace {
  int32_t native = 0;  // the vendor's own number; 0: none
  int64_t step = 0;    // the first is 1; 0: unknown
  std::string node;    // of the program that ran; empty: unknown
  std::string device;  // "cpu"
  std::string text;    // the device's own line
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::shared_ptr<const FailurePlace> place = nullptr)
      : code_(code), message_(std::move(message)), place_(std::move(place)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  // One line: what, where, expected, found. Empty when ok.
  const std::string& message() const { return message_; }
  // Where a step failed on a device; else nullptr.
  const FailurePlace* place() const { return place_.get(); }

 private:
  Code code_ = Code::kOk;
  std::string message_;
  std::shared_ptr<const FailurePlace> place_;
};

// Thrown by the model-building functions; what() is the status's message.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status) : std::runtime_error(status.message()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// A value or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // REQUIRED: ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  // The value, moved out; throws Error when there is none.
  T take() {
    if (!ok()) throw Error(status_);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

// Throws Error unless `status` is ok.
void check(const Status& status);

}  // namespace tenon

// Returns from the enclosing function when `expression` (a Status) is an error.
#define TENON_TRY(expression)                                                                    \
  do {                                                                                           \
    if (::tenon::Status tenon_status_ = (expression); !tenon_status_.ok()) return tenon_status_; \
  } while (false)

#define TENON_CONCAT_INNER(a, b) a##b
#define TENON_CONCAT(a, b) TENON_CONCAT_INNER(a, b)

// TENON_ASSIGN(auto x, f()): declares x from a Result, or returns its error.
#define TENON_ASSIGN(declaration, expression) \
  TENON_ASSIGN_INNER(TENON_CONCAT(tenon_result_, __LINE__), declaration, expression)
#define TENON_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return result.status();                 \
  declaration = std::move(*result)
