#include "flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

namespace tenon::runner {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

std::string with_underscores(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whole numbers without an exponent: 100000.
std::string plain(double value) {
  char digits[40];
  char* const end = digits + sizeof digits;
  const bool whole = std::abs(value) < 1e19 && value == std::floor(value);
  return std::string(
      digits,
      (whole ? std::to_chars(digits, end, value, std::chars_format::fixed) : std::to_chars(digits, end, value)).ptr);
}

// Large bounds are said to who went beyond them.
std::string range(const Flags::Flag& flag, std::string_view text) {
  const bool beyond = parse_number<double>(text).value_or(0) > flag.high;
  if (flag.high >= 1e9 && flag.low <= -1e9 && !beyond) return "";
  if (flag.high >= 1e9 && !beyond) return " of " + plain(flag.low) + " or more";
  return " from " + plain(flag.low) + " to " + plain(flag.high);
}

struct Expected {
  const Flags::Flag& flag;
  std::string_view text;
  std::string operator()(int64_t) const { return "an integer" + range(flag, text); }
  std::string operator()(double) const { return "a number" + range(flag, text); }
  std::string operator()(bool) const { return "true or false"; }
  std::string operator()(const std::string&) const { return "one of " + listed(flag.choices); }
};

struct Parse {
  const Flags::Flag& flag;
  std::string_view text;
  bool in_range(double v) const { return v >= flag.low && v <= flag.high; }
  std::optional<Params::Value> operator()(int64_t) const {
    const auto v = parse_number<int64_t>(text);
    if (!v || !in_range(static_cast<double>(*v))) return std::nullopt;
    return Params::Value(*v);
  }
  std::optional<Params::Value> operator()(double) const {
    const auto v = parse_number<double>(text);
    if (!v || !std::isfinite(*v) || !in_range(*v)) return std::nullopt;
    return Params::Value(*v);
  }
  std::optional<Params::Value> operator()(bool) const {
    if (text == "true" || text == "1" || text == "True" || text == "yes") return Params::Value(true);
    if (text == "false" || text == "0" || text == "False" || text == "no") return Params::Value(false);
    return std::nullopt;
  }
  std::optional<Params::Value> operator()(const std::string&) const {
    if (!flag.choices.empty() && std::find(flag.choices.begin(), flag.choices.end(), text) == flag.choices.end())
      return std::nullopt;
    return Params::Value(std::string(text));
  }
};

struct Shown {
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return plain(v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::string& v) const { return v; }
};

// "--name VALUE" with what it takes.
std::string usage(const Flags::Flag& flag) {
  if (std::holds_alternative<bool>(flag.value)) return "--" + flag.name;
  if (!flag.choices.empty() && listed(flag.choices).size() < 24) {
    std::string out = "--" + flag.name + " ";
    for (size_t i = 0; i < flag.choices.size(); ++i) out += (i ? "|" : "") + flag.choices[i];
    return out;
  }
  const char* kind = std::holds_alternative<int64_t>(flag.value)                 ? "N"
                     : std::holds_alternative<double>(flag.value)                ? "X"
                     : flag.name.ends_with("dir") || flag.name.ends_with("path") ? "DIR"
                                                                                 : "TEXT";
  return "--" + flag.name + " " + kind;
}

std::string help_line(const Flags::Flag& flag) {
  std::string line = "  " + usage(flag);
  line += line.size() < 34 ? std::string(34 - line.size(), ' ') : "\n" + std::string(34, ' ');
  line += flag.help;
  if (listed(flag.choices).size() >= 24) line += "; " + listed(flag.choices);
  const std::string value = flag.by_model ? "the model's" : std::visit(Shown(), flag.value);
  if (!value.empty() && value != "false") line += " [" + value + "]";
  return line + "\n";
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t limit = word.size() / 3 + 2;
  for (const std::string& c : candidates)
    if (const size_t d = edit_distance(word, c); d < limit) best = c, limit = d;
  return best;
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) add_item(out, w);
  return out;
}

void Flags::add(Flag flag) {
  if (left_out_.contains(flag.name)) return;
  for (Flag& f : flags_)
    if (f.name == flag.name) return void(f = std::move(flag));
  flags_.push_back(std::move(flag));
}
void Flags::integer(const std::string& name, int64_t value, const std::string& help, double low, double high) {
  add({name, value, help, low, high});
}
void Flags::number(const std::string& name, double value, const std::string& help, double low, double high) {
  add({name, value, help, low, high});
}
void Flags::boolean(const std::string& name, bool value, const std::string& help) { add({name, value, help}); }
void Flags::text(const std::string& name, const std::string& value, const std::string& help,
                 std::vector<std::string> choices) {
  add({name, value, help, 0, 0, std::move(choices)});
}

void Flags::texts(const std::string& name, const std::string& help) {
  text(name, "", help);
  find(name).repeats = true;
}

// Its values are kept one a line.
std::vector<std::string> Flags::list(std::string_view name) const {
  std::vector<std::string> out;
  for (std::string_view rest = text(name); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

bool Flags::has(std::string_view name) const {
  return std::any_of(flags_.begin(), flags_.end(), [&](const Flag& f) { return f.name == name; });
}

const Flags::Flag& Flags::find(std::string_view name) const {
  for (const Flag& f : flags_)
    if (f.name == name) return f;
  if (const auto it = aliases_.find(name); it != aliases_.end() && has(it->second)) return find(it->second);
  throw Error(Status(Code::kInternal, "no flag of name " + std::string(name)));
}
Flags::Flag& Flags::find(std::string_view name) {
  return const_cast<Flag&>(static_cast<const Flags*>(this)->find(name));
}

const std::string& Flags::required(std::string_view name) const {
  const std::string& value = text(name);
  if (value.empty()) throw UsageError{"--" + std::string(name) + " is missing"};
  return value;
}

Flags::Flag& Flags::named(const std::string& argument, std::string_view name, bool* negated) {
  std::string wanted = with_underscores(name);
  if (const auto it = aliases_.find(wanted); it != aliases_.end() && has(it->second)) wanted = it->second;
  *negated = false;
  if (has(wanted)) return find(wanted);
  if (wanted.starts_with("no")) {
    std::string positive = wanted.substr(2);
    if (positive.starts_with("_")) positive.erase(0, 1);
    if (has(positive) && std::holds_alternative<bool>(find(positive).value)) {
      *negated = true;
      return find(positive);
    }
  }
  std::vector<std::string> names;
  for (const Flag& f : flags_) names.push_back(f.name);
  for (const auto& [alias, of] : aliases_)
    if (has(of)) names.push_back(alias);
  const std::string near = nearest_word(wanted, names);
  throw UsageError{"unknown flag " + argument +
                   (near.empty() ? "; --help lists them" : "; did you mean --" + near + "?")};
}

std::vector<std::string> Flags::parse(const std::vector<std::string>& args) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg.size() < 2 || arg[0] != '-') {
      rest.push_back(arg);
      continue;
    }
    if (arg[1] != '-') throw UsageError{"unknown flag " + arg + "; flags start with --"};
    const size_t equals = std::min(arg.find('='), arg.size());
    bool negated = false;
    Flag& flag = named(arg.substr(0, equals), std::string_view(arg).substr(2, equals - 2), &negated);
    const bool is_bool = std::holds_alternative<bool>(flag.value);
    std::string value;
    if (equals < arg.size())
      value = arg.substr(equals + 1);
    else if (is_bool)
      value = negated ? "false" : "true";
    else if (i + 1 < args.size())
      value = args[++i];
    else
      throw UsageError{"--" + flag.name + ": expected a value"};
    const std::optional<Params::Value> parsed = std::visit(Parse{flag, value}, flag.value);
    if (!parsed || (negated && equals < arg.size()))
      throw UsageError{"--" + flag.name + ": expected " + std::visit(Expected{flag, value}, flag.value) + ", found '" +
                       value + "'"};
    if (flag.repeats && flag.given)
      std::get<std::string>(flag.value) += "\n" + value;
    else
      flag.value = *parsed;
    flag.given = true;
  }
  return rest;
}

std::string Flags::given_text() const {
  std::string out;
  for (const Flag& f : flags_)
    if (f.given) out += (out.empty() ? "--" : " --") + f.name + " " + std::visit(Shown{}, f.value);
  return out;
}

std::string Flags::help() const {
  std::string own, common;
  for (const Flag& f : flags_) (f.common ? common : own) += help_line(f);
  return (own.empty() ? "" : "\nFlags [default]:\n" + own) + (common.empty() ? "" : "\nEverywhere:\n" + common);
}

}  // namespace tenon::runner
