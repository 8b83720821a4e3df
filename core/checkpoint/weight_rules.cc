#include "checkpoint/weight_rules.h"

#include <algorithm>
#include <cstring>

#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr int64_t kMostRules = 10000, kMostRuleBytes = 1 << 20;
constexpr int64_t kMostTries = 20'000'000;  // of a rule on a name
constexpr const char* kRuleForm =
    "expected REGEX -> NAME [OIHW->HWIO | linear | depthwise | perm 2,3,1,0] [shape 768,12,64], REGEX -> NAME,NAME "
    "split, "
    "or REGEX -> drop";
constexpr size_t kMostParts = 64, kMostTensors = size_t{1} << 18;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = 0; (at = text.find_first_not_of(" \t", at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

// Each of 0..n-1 once, or none.
std::vector<int> permutation(std::vector<int> axes) {
  std::vector<int> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int>(i)) return {};
  return axes;
}

// "OIHW->HWIO"
std::vector<int> axes_of_letters(std::string_view text) {
  const size_t arrow = text.find("->");
  if (arrow == text.npos) return {};
  const std::string_view from = text.substr(0, arrow), to = text.substr(arrow + 2);
  if (from.size() != to.size() || from.size() > static_cast<size_t>(kMaxRank)) return {};
  std::vector<int> axes;
  for (const char letter : to) {
    const size_t at = from.find(letter);
    if (at == from.npos) return {};
    axes.push_back(static_cast<int>(at));
  }
  return permutation(std::move(axes));
}

// "2,3,1,0"
std::vector<int> axes_of_numbers(std::string_view text) {
  std::vector<int> axes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % 2 == 1 ? text[i] != ',' : text[i] < '0' || text[i] > '7') return {};
    if (i % 2 == 0) axes.push_back(text[i] - '0');
  }
  if (text.size() % 2 == 0) return {};
  return permutation(std::move(axes));
}

std::vector<int> axes_of(const std::vector<std::string>& words) {
  if (words.size() == 2) return words[0] == "perm" ? axes_of_numbers(words[1]) : std::vector<int>();
  if (words.size() != 1) return {};
  if (words[0] == "linear") return {1, 0};
  if (words[0] == "depthwise") return {2, 3, 0, 1};
  return axes_of_letters(words[0]);
}

// "768,12,64"; none where it is no such text.
std::vector<int64_t> dims_of(std::string_view text) {
  constexpr size_t kMostDigits = 15;
  std::vector<int64_t> dims;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string digits(text.substr(at, comma - at));
    if (digits.empty() || digits.size() > kMostDigits || digits.find_first_not_of("0123456789") != digits.npos ||
        dims.size() == static_cast<size_t>(kMaxRank))
      return {};
    dims.push_back(std::stoll(digits));
    at = comma + 1;
  }
  return dims;
}

}  // namespace

// What stands behind a rule's name: "split", axes, "shape 768,12,64".
Status WeightRules::parse_form(std::vector<std::string> words, Rule* rule) {
  if (words == std::vector<std::string>{"split"}) {
    const std::string all = rule->names[0];
    rule->names.clear();
    for (size_t at = 0; at <= all.size();) {
      const size_t comma = std::min(all.find(',', at), all.size());
      rule->names.push_back(all.substr(at, comma - at));
      at = comma + 1;
    }
    const bool named = std::none_of(rule->names.begin(), rule->names.end(), [](const auto& n) { return n.empty(); });
    return named && rule->names.size() > 1 && rule->names.size() <= kMostParts
               ? Status()
               : invalid("expected 2 to ", kMostParts, " names with commas between them before split");
  }
  const std::string said = join(words, " ");
  if (words.size() >= 2 && words[words.size() - 2] == "shape") {
    rule->dims = dims_of(words.back());
    words.resize(rule->dims.empty() ? words.size() : words.size() - 2);
  }
  if (!words.empty()) rule->axes = axes_of(words);
  if (words.empty() || !rule->axes.empty()) return {};
  return invalid(kRuleForm, ", found '", abbreviated(said), "' behind the name");
}

Result<WeightRules::Rule> WeightRules::parse_rule(std::string_view line) {
  const size_t arrow = line.find(" -> ");
  const std::string_view text = trimmed(line.substr(0, std::min(arrow, line.size())));
  std::vector<std::string> words = words_of(arrow == line.npos ? std::string_view() : line.substr(arrow + 4));
  if (text.empty() || words.empty()) return invalid(kRuleForm, ", found '", abbreviated(line), "'");
  TENON_ASSIGN(NameExpression expression, NameExpression::make_with_groups(text));
  Rule rule{std::move(expression), {words[0]}, {}, {}, 0};
  words.erase(words.begin());
  if (rule.names[0] != "drop") {
    TENON_TRY(parse_form(std::move(words), &rule));
    return rule;
  }
  rule.names.clear();
  if (!words.empty()) return invalid(kRuleForm, ", found '", abbreviated(join(words, " ")), "' behind the name");
  return rule;
}

Result<WeightRules> WeightRules::parse(std::string_view text, const std::string& file) {
  WeightRules out;
  out.file_ = file;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line[0] == '#') continue;
    Result<Rule> rule = parse_rule(line);
    if (!rule.ok()) return invalid("'", file, "': line ", number, ": ", rule.status().message());
    if (std::ssize(out.rules_) >= kMostRules) return invalid("'", file, "': expected at most ", kMostRules, " rules");
    out.rules_.push_back(rule.take());
    out.rules_.back().line = number;
  }
  return out;
}

Result<WeightRules> WeightRules::read(const std::string& path) {
  TENON_ASSIGN(const std::string text, read_file(path, kMostRuleBytes));
  return parse(text, path);
}

Status WeightRules::split(const Rule& rule, int64_t parts, Taken* taken) const {
  const Shape& shape = taken->type.shape;
  if (!taken->axes.empty() || taken->shaped || shape.rank() == 0 || shape[0] % parts != 0)
    return invalid("'", file_, "': line ", rule.line, " splits the first axis of tensor '", abbreviated(taken->from),
                   "' into ", parts, " parts, and it is ", taken->type.str(),
                   taken->axes.empty() && !taken->shaped ? "" : ", as a rule before has turned it");
  std::vector<int64_t> dims(shape.begin(), shape.end());
  dims[0] /= parts;
  taken->type.shape = Shape(dims);
  taken->part *= parts, taken->parts *= parts;
  return {};
}

Status WeightRules::turn(const Rule& rule, Taken* taken) const {
  const std::string tensor = cat("tensor '", abbreviated(taken->from), "'");
  if (!taken->axes.empty() || taken->shaped)
    return invalid("'", file_, "': line ", rule.line, " turns the axes of ", tensor, " again");
  if (taken->type.shape.rank() != static_cast<int>(rule.axes.size()))
    return invalid("'", file_, "': line ", rule.line, " turns ", rule.axes.size(), " axes, ", tensor, " is ",
                   taken->type.str());
  std::vector<int64_t> dims;
  for (const int axis : rule.axes) dims.push_back(taken->type.shape[axis]);
  taken->turned = taken->type.shape;
  taken->type.shape = Shape(dims);
  taken->axes = rule.axes;
  return {};
}

Status WeightRules::shape(const Rule& rule, Taken* taken) const {
  int64_t elements = 1;
  bool fits = true;
  for (const int64_t dim : rule.dims) fits = fits && !__builtin_mul_overflow(elements, dim, &elements);
  if (!fits || elements != taken->type.shape.elements())
    return invalid("'", file_, "': line ", rule.line, " gives tensor '", abbreviated(taken->from), "' the shape [",
                   join(rule.dims, ","), "], and it is ", taken->type.str());
  taken->type.shape = Shape(rule.dims);
  taken->shaped = true;
  return {};
}

// From this rule on. Names alone, of kNone, have no axes.
Status WeightRules::follow(size_t next, std::string name, Taken taken, Named& out) const {
  for (size_t i = next; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    const bool has_axes = taken.type.dtype != DType::kNone;
    if (!rule.expression.replaced(name, "")) continue;
    if (rule.names.empty()) return {};
    if (rule.names.size() > 1) {
      const auto parts = std::ssize(rule.names);
      if (has_axes) TENON_TRY(split(rule, parts, &taken));
      for (int64_t part = 0; part < parts; ++part) {
        Taken own = taken;
        own.part += part;
        TENON_TRY(
            follow(i + 1, *rule.expression.replaced(name, rule.names[static_cast<size_t>(part)]), std::move(own), out));
      }
      return {};
    }
    name = *rule.expression.replaced(name, rule.names[0]);
    if (has_axes && !rule.axes.empty()) TENON_TRY(turn(rule, &taken));
    if (has_axes && !rule.dims.empty()) TENON_TRY(shape(rule, &taken));
  }
  if (out.size() >= kMostTensors) return invalid("'", file_, "': makes more than ", kMostTensors, " tensors");
  out.emplace_back(std::move(name), std::move(taken));
  return {};
}

Result<WeightRules::Named> WeightRules::all_of(const Named& tensors) const {
  if (std::ssize(tensors) * std::ssize(rules_) > kMostTries)
    return invalid("'", file_, "': its ", rules_.size(), " rules are too many for ", tensors.size(), " tensors");
  Named out;
  for (const auto& [name, taken] : tensors) TENON_TRY(follow(0, name, taken, out));
  return out;
}

Result<std::map<std::string, WeightRules::Taken, std::less<>>> WeightRules::taken(
    const std::map<std::string, Type, std::less<>>& tensors) const {
  Named named;
  for (const auto& [name, type] : tensors) named.emplace_back(name, Taken{.from = name, .type = type, .axes = {}});
  TENON_ASSIGN(Named all, all_of(named));
  std::map<std::string, Taken, std::less<>> out;
  for (auto& [name, taken] : all) {
    const std::string from = taken.from;
    const auto [at, is_new] = out.emplace(std::move(name), std::move(taken));
    if (!is_new)
      return invalid("'", file_, "': tensors '", abbreviated(at->second.from), "' and '", abbreviated(from),
                     "' would both be '", abbreviated(at->first), "'");
  }
  return out;
}

Result<WeightRules::Texts> WeightRules::renamed(const Texts& texts) const {
  Named named;
  for (const auto& entry : texts) named.emplace_back(entry.first, Taken{.from = entry.first, .type = {}, .axes = {}});
  TENON_ASSIGN(const Named all, all_of(named));
  Texts out;
  for (const auto& [name, taken] : all) out.emplace(name, texts.find(taken.from)->second);
  return out;
}

void turn_axes(std::span<const std::byte> in, const Shape& shape, const std::vector<int>& axes, int64_t width,
               std::span<std::byte> out) {
  const size_t rank = axes.size();
  std::vector<int64_t> strides(rank), sizes(rank), steps(rank), at(rank);
  int64_t stride = width;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= shape[static_cast<int>(i)];
  }
  for (size_t i = 0; i < rank; ++i) sizes[i] = shape[axes[i]], steps[i] = strides[static_cast<size_t>(axes[i])];
  int64_t from = 0;
  for (int64_t to = 0; to < std::ssize(out); to += width) {
    std::memcpy(out.data() + to, in.data() + from, static_cast<size_t>(width));
    for (size_t i = rank; i-- > 0;) {
      from += steps[i];
      if (++at[i] < sizes[i]) break;
      from -= steps[i] * sizes[i];
      at[i] = 0;
    }
  }
}

}  // namespace tenon
