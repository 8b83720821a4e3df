// The flags of a subcommand: declared with type, default, range and a line of help, then parsed.
//
// `--name value` and `--name=value`; a hyphen may stand for each underscore; `--name` alone sets a bool and
// `--noname` clears it. A mistake is one line that names the flag, the nearest one where it is unknown, and what was
// expected.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/estimator.h"

namespace tenon::runner {

// A mistake in the command line; ends the program with code 2.
struct UsageError {
  std::string message;
};

class Flags {
 public:
  struct Flag {
    std::string name;
    Params::Value value;
    std::string help;
    double low = 0, high = 0;               // of numbers
    std::vector<std::string> choices = {};  // of strings; empty: any
    bool given = false;
    bool common = false;    // listed after the subcommand's own
    bool by_model = false;  // its default is the model's, which is not known
    bool repeats = false;   // a text that may be given several times: list()
  };

  // Numbers take ranges; both ends are allowed.
  void integer(const std::string& name, int64_t value, const std::string& help, double low = 0, double high = 9e18);
  void number(const std::string& name, double value, const std::string& help, double low = 0, double high = 1e300);
  void boolean(const std::string& name, bool value, const std::string& help);
  void text(const std::string& name, const std::string& value, const std::string& help,
            std::vector<std::string> choices = {});
  // May be given several times; each time one value.
  void texts(const std::string& name, const std::string& help);
  // Flags that mean nothing here, which are not added.
  void leave_out(const std::vector<std::string>& names) { left_out_.insert(names.begin(), names.end()); }
  // In the place of a flag that has the name already, such as a model's where the subcommand has one of its own.
  void add(Flag flag);
  // Another spelling of a flag, on the command line and here.
  void alias(const std::string& name, const std::string& of) { aliases_[name] = of; }

  // "--batch_size 32 --json true": those that were given, in the order of the table.
  std::string given_text() const;
  // Takes flags from `args` and returns the rest, in order. Throws UsageError.
  std::vector<std::string> parse(const std::vector<std::string>& args);

  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(find(name).value);
  }
  template <class T>
  T get_or(std::string_view name, T otherwise) const {
    return has(name) ? get<T>(name) : otherwise;
  }
  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  bool boolean(std::string_view name) const { return get<bool>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  std::vector<std::string> list(std::string_view name) const;  // of texts()
  // Throws UsageError when it is empty.
  const std::string& required(std::string_view name) const;
  bool given(std::string_view name) const { return find(name).given; }
  bool has(std::string_view name) const;
  void set(std::string_view name, Params::Value value) { find(name).value = std::move(value); }
  const std::vector<Flag>& all() const { return flags_; }
  void mark_by_model(std::string_view name) { find(name).by_model = true; }
  // Those from index `first` on are listed apart in the help.
  void mark_common(size_t first) {
    for (size_t i = first; i < flags_.size(); ++i) flags_[i].common = true;
  }

  std::string help() const;  // a line or two each

 private:
  const Flag& find(std::string_view name) const;
  Flag& find(std::string_view name);
  Flag& named(const std::string& argument, std::string_view name, bool* negated);

  std::vector<Flag> flags_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::set<std::string, std::less<>> left_out_;
};

// The candidate nearest to `word` when it is close enough to be meant, else "".
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);
// "a, b, c"
std::string listed(const std::vector<std::string>& words);

}  // namespace tenon::runner
