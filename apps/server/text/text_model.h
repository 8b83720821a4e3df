// Models of text: lines in, lines out, as those that translate or go on with a prompt.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon::server {

using Lines = std::vector<std::string>;

// Used by one thread at a time.
class TextModel {
 public:
  virtual ~TextModel() = default;
  virtual int64_t max_lines() const = 0;  // of a call of write()
  // Is asked between tokens; true: nobody waits for what is written any more.
  using Interrupted = std::function<bool()>;
  // A text for each line. kInvalid names the line that cannot be read, of a request whose lines begin with number `first`; kInterrupted
  // where it was.
  virtual Result<Lines> write(const Lines& lines, int64_t first, const Interrupted& interrupted) = 0;
  // Whether it can show a text as it grows.
  virtual bool streams() const { return false; }
  // `takes` gets all of the text so far, now and then, and at the end; false: nobody reads it any more. REQUIRED: streams().
  using TakesText = std::function<bool(std::string_view so_far)>;
  virtual Status stream(const std::string& /*line*/, const TakesText& /*takes*/) { return {}; }
  virtual int64_t tokens() const { return 0; }  // that were written so far
};

}  // namespace tenon::server
