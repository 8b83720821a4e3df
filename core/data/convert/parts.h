// A conversion that several processes share: OUTPUT/.tenon-parts, in which each finished file waits until all are there.
//
//   job              what is converted, and how: it is gone on with by no other conversion
//   locks            who is at what: a lock on one byte of it, which ends with its process, whatever ends that
//   NAME, NAME.done  a finished file, and what is in it; the latter comes last
//
// The files that are to be made, "units", follow from the input and the arguments alone. A process takes those that are neither
// finished nor locked, in order, so that a quicker one makes more of them, and one that comes later goes on where others
// were killed. Nothing here is seen in OUTPUT itself; Generation puts it there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/descriptor.h"
#include "data/convert/generation_marker.h"
#include "tenon/convert.h"

namespace tenon {

constexpr const char* kParts = ".tenon-parts";

// Tells one conversion from another.
class JobText {
 public:
  explicit JobText(std::string_view kind);
  template <class Value>
  JobText& add(std::string_view name, const Value& value) {
    return line(name, cat_value(value));
  }
  // Its name, size and time; of what cannot be read its name.
  JobText& add_file(const std::string& path);
  JobText& add_files(std::string_view name, const std::vector<std::string>& paths);
  std::string text() const;

 private:
  static std::string cat_value(const std::string& value) { return value; }
  template <class Value>
  static std::string cat_value(const Value& value) {
    return std::to_string(value);
  }
  JobText& line(std::string_view name, std::string_view value);

  std::string text_;
  uint64_t files_;  // a hash of theirs
};

// What is in a finished file: of each split that it has records of.
using PartCounts = std::vector<ConvertSummary::Split>;
// Adds records, bytes and what was left out of `more`, which comes after *to.
void add_counts(const ConvertSummary::Split& more, ConvertSummary::Split* to);

// Movable; one thread.
class Parts {
 public:
  // Why a process is here.
  enum class Role {
    kLeads,  // has the directory to itself but for those that help; holds the Generation
    kHelps,  // of the same job of processes as one that leads, and was told that it is there
    kPart,   // one of --part I/N: others come and go
  };
  // Whether parts of any conversion are in the directory.
  static bool are_in(const std::string& output);
  // REQUIRED: the output directory exists. An error where another conversion's parts are there, unless options.overwrite, or
  // another process that is not of this conversion is at work.
  static Result<Parts> open(const ConvertOptions& options, const std::string& job, Role role);

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  bool has(const std::string& name) const;
  bool is_done(const std::string& name) const { return has(name + ".done"); }

  // What there is one of, beside units.
  enum class Lock : int64_t { kPresence, kSetup, kVocabulary, kFirstUnit = 16 };
  // Unit `index` of `group`, called `name`: true where it is to be made now, by this process, which then has to finish it.
  Result<bool> claim(int64_t group, int64_t index, const std::string& name);
  Status finish(int64_t group, int64_t index, const std::string& name, const PartCounts& counts);
  // Is finished, without a unit.
  Status mark(const std::string& name) const;
  Result<PartCounts> counts(const std::string& name) const;
  // Until another process has finished it.
  Status wait_for(const std::string& name) const;

  // True where this process has it now. It ends with unlock(), or with the process.
  Result<bool> try_lock(Lock lock, bool shared = false);
  Status unlock(Lock lock);
  // True: this process has it, and is to make `name`. False once another one has made it.
  Result<bool> lock_or_wait(Lock lock, const std::string& name);

  // The error, naming what is here by where it is to be in the end.
  Status as_asked(const Status& error) const;
  // The next conversion need not go on with this one, which cannot succeed.
  void give_up() const;
  // All that conversions put there, and the directory.
  void remove();

 private:
  explicit Parts(const ConvertOptions& options) : options_(options), directory_(options.output + "/" + kParts) {}
  Status open_locks();
  Status lead(const std::string& job);
  Status take_part(const std::string& job);
  Status begin_job(const std::string& job, bool alone);
  Result<bool> lock_byte(int64_t byte, short kind);
  Status in_use() const;

  ConvertOptions options_;
  std::string directory_;
  Descriptor locks_;
};

// kInterrupted, as a conversion that was asked to end gives it.
Status interrupted_status(const ConvertOptions& options);

// Removes a directory of parts from `output`, or from what was it, with all that conversions put there.
void remove_parts(const OpenDirectory& output);

}  // namespace tenon
