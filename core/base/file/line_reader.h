// The lines of a text, one at a time: memory does not grow with it, and a line is bounded. A byte order mark in front of
// them is passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/file/file.h"

namespace tenon {

class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = size_t{1} << 20;

  static Result<LineReader> open(const std::string& path);  // regular files only
  // Reads 1 to `bytes` bytes; 0 at the end.
  using Read = std::function<Result<size_t>(char* to, size_t bytes)>;
  // `name` is for messages.
  LineReader(Read read, std::string name, size_t max_line_bytes = kMaxLineBytes);

  // The next line without '\n', or false after the last one. A longer line than is allowed is an error; the next call goes on
  // behind it.
  Result<bool> next(std::string& line);

  int64_t bytes() const { return bytes_; }    // of the file
  int64_t number() const { return number_; }  // of the last line, from 1
  std::string where(int64_t number) const;    // "PATH:NUMBER"

 private:
  Result<bool> fill();
  Status pass_over();

  Read read_;
  std::string name_;
  size_t max_line_bytes_;
  int64_t bytes_ = 0;
  std::string buffer_;
  std::string_view rest_;  // of the buffer, not yet given
  int64_t number_ = 0;
  bool begun_ = false;
};

}  // namespace tenon
