// The names in a model directory: the text file `checkpoint` (TensorFlow's CheckpointState in
// protobuf's text format) and the files beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

struct CheckpointState {
  std::string latest;                       // as written: relative to the directory, or absolute
  std::vector<std::string> all;             // oldest first
  std::vector<std::string> preserved = {};  // kept for good; in comments, as TensorFlow does not list them
  std::vector<std::string> suspect = {};    // of `all`, those that need not be sound; in comments
  int64_t last_preserved = 0;               // the time of the last one, or from which time counts: seconds since 1970
};

// Ends with a comment that holds the checksum of the lines before it: a flipped bit could otherwise
// name another checkpoint that exists.
std::string format_checkpoint_state(const CheckpointState& state);
// Files without that comment, as TensorFlow writes them, are read too. Messages start with `file`.
Result<CheckpointState> parse_checkpoint_state(std::string_view text, std::string_view file);

// MODEL_DIR/checkpoint
std::string checkpoint_state_path(const std::string& model_dir);
Result<CheckpointState> read_checkpoint_state(const std::string& model_dir);
bool file_exists(const std::string& path);

// "model.ckpt-30", or "model.ckpt-30-1" for a second state of the same step.
struct CheckpointName {
  int64_t step = 0;
  int64_t copy = 0;

  std::string str() const;
  auto operator<=>(const CheckpointName&) const = default;
};
bool parse_checkpoint_name(std::string_view name, CheckpointName& out);

// Those in the directory that have an index, oldest step first.
Result<std::vector<CheckpointName>> list_checkpoints(const std::string& model_dir);

}  // namespace tenon
