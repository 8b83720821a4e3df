// The lines of a text file, one at a time: memory does not grow with the file, and a line is bounded. A byte order mark in front of
// them is passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file/file.h"

namespace tenon {

class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = size_t{1} << 20;

  static Result<LineReader> open(const std::string& path);  // regular files only

  // The next line without '\n', or false after the last one. A line of more than kMaxLineBytes is an error.
  Result<bool> next(std::string& line);

  int64_t bytes() const { return file_.size(); }
  int64_t number() const { return number_; }  // of the last line, from 1
  std::string where(int64_t number) const;    // "PATH:NUMBER"

 private:
  explicit LineReader(File file);
  Result<bool> fill();

  File file_;
  std::string buffer_;
  std::string_view rest_;  // of the buffer, not yet given
  int64_t offset_ = 0, number_ = 0;
};

}  // namespace tenon
