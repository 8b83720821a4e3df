#include "conformance/report.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "tenon/op/table.h"

namespace tenon::conformance {
namespace {

std::string group_name(const Test& test) { return test.group.empty() ? test.suite : test.suite + "/" + test.group; }

std::string plural(uint64_t n, const char* noun) { return with_commas(n) + " " + noun + (n == 1 ? "" : "s"); }

// "a, b and 3 more"
std::string list(const std::vector<std::string>& names, size_t most) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < most; ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

// ---- failures ----

struct FailingGroup {
  uint64_t tests = 0, failed = 0;
  const Result* smallest = nullptr;
};

std::vector<std::pair<std::string, FailingGroup>> failing_groups(const Summary& summary) {
  std::vector<std::pair<std::string, FailingGroup>> groups;
  std::map<std::string, size_t> at;
  for (const Result& r : summary.results) {
    const auto [entry, fresh] = at.emplace(group_name(*r.test), groups.size());
    if (fresh) groups.push_back({entry->first, {}});
    FailingGroup& group = groups[entry->second].second;
    ++group.tests;
    if (r.outcome != Outcome::kFail) continue;
    ++group.failed;
    if (!group.smallest || r.test->size < group.smallest->test->size) group.smallest = &r;
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(), [](const auto& g) { return g.second.failed == 0; }),
               groups.end());
  return groups;
}

void print_failures(FILE* out, const Summary& summary) {
  const auto groups = failing_groups(summary);
  if (!groups.empty()) std::fprintf(out, "\nFailing, the smallest test of each group:\n");
  for (const auto& [name, group] : groups) {
    std::fprintf(out, "\n  %s: %s of %s failed\n    %s: %s\n    %s\n", name.c_str(), with_commas(group.failed).c_str(),
                 plural(group.tests, "test").c_str(), group.smallest->test->id().c_str(),
                 clean(group.smallest->text).c_str(),
                 clean(reproduction(summary.path, summary.options, *group.smallest->test)).c_str());
  }
}

// ---- what is not supported ----

// "f32" of "f32[7,13] axis 1"
std::string dtype_of_name(const std::string& name) {
  static const std::set<std::string> dtypes = {"f32", "bf16", "f16", "f64", "i32", "i64", "u8", "bool"};
  const std::string word = name.substr(0, std::min(name.find('['), name.find(' ')));
  return dtypes.count(word) ? word : "";
}

struct Reason {
  uint64_t tests = 0;
  std::set<std::string> dtypes, groups;
};

// What the tests of one reason have in common.
std::string common(const Reason& reason) {
  if (reason.groups.size() == 1) return *reason.groups.begin();
  if (reason.dtypes.size() == 1 && !reason.dtypes.begin()->empty()) return *reason.dtypes.begin();
  return list({reason.groups.begin(), reason.groups.end()}, 3);
}

void print_reasons(FILE* out, const Summary& summary, Outcome outcome, const char* title) {
  std::map<std::string, Reason> reasons;
  for (const Result& r : summary.results) {
    if (r.outcome != outcome) continue;
    Reason& reason = reasons[clean(r.text)];
    ++reason.tests;
    reason.dtypes.insert(dtype_of_name(r.test->name));
    reason.groups.insert(group_name(*r.test));
  }
  if (reasons.empty()) return;
  std::vector<std::pair<std::string, Reason>> order(reasons.begin(), reasons.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.tests > b.second.tests; });
  std::fprintf(out, "\n%s\n", title);
  constexpr size_t kMost = 30;
  for (size_t i = 0; i < order.size() && i < kMost; ++i)
    std::fprintf(out, "  %s: %s: '%s'\n", common(order[i].second).c_str(),
                 plural(order[i].second.tests, "test").c_str(), order[i].first.c_str());
  if (order.size() > kMost)
    std::fprintf(out, "  and %s\n", plural(order.size() - kMost, "reason").append(" more").c_str());
}

// ---- levels ----

void print_missing(FILE* out, const Summary& summary) {
  const std::vector<SharedCause> shared = shared_causes(summary);
  if (!shared.empty()) std::fprintf(out, "\nA cause that is no op's, what to mend before any op is written:\n");
  for (const SharedCause& cause : shared)
    std::fprintf(out, "  %s of %s: '%s'\n", plural(cause.tests, "test").c_str(), plural(cause.ops, "op").c_str(),
                 cause.text.c_str());
  const auto missing = missing_ops(summary);
  if (!missing.empty()) std::fprintf(out, "\nMissing ops, what to write next first:\n");
  for (const auto& [level, names] : missing)
    std::fprintf(out, "  for level %d: %s\n", level, list(names, names.size()).c_str());
}

void print_lacking(FILE* out, const Summary& summary) {
  const int next = summary.level() + 1;
  if (next <= summary.options.level)
    std::fprintf(out, "level %d, %s, lacks: %s\n", next, level_meaning(next), list(lacking(summary), 8).c_str());
}

}  // namespace

void Counts::add(Outcome outcome) {
  ++(outcome == Outcome::kPass          ? pass
     : outcome == Outcome::kFail        ? fail
     : outcome == Outcome::kUnsupported ? unsupported
     : outcome == Outcome::kDeclined    ? declined
                                        : unavailable);
}

Counts Summary::counts() const {
  Counts counts;
  for (const Result& r : results) counts.add(r.outcome);
  return counts;
}

int Summary::level() const { return std::min(level_of(results), options.level); }

bool Summary::good(int least) const {
  const Counts c = counts();
  if (filtered()) return c.fail == 0 && c.pass > 0;
  return c.fail == 0 && level() >= std::max(0, least);
}

const char* level_meaning(int level) {
  static const char* const meanings[] = {"loads", "infers", "trains with primitives",
                                         "trains every model of the catalogue", "replicas and feeds"};
  return level >= 0 && level <= 4 ? meanings[level] : "no level";
}

const char* outcome_name(Outcome outcome) {
  static const char* const names[] = {"pass", "fail", "unsupported", "unavailable", "declined"};
  return names[static_cast<int>(outcome)];
}

std::string with_commas(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string reproduction(const std::string& library, const RunOptions& options, const Test& test) {
  const auto quoted = [](const std::string& text) {
    std::string out = "'";
    for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  };
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string("/._-+:,=@%").find(c) != std::string::npos;
  };
  std::string pattern;
  for (char c : test.id())
    pattern += (std::string("^$\\.*+?()[]{}|").find(c) != std::string::npos ? "\\" : "") + std::string(1, c);
  std::string text =
      "tenon-conform " + (std::all_of(library.begin(), library.end(), plain) ? library : quoted(library));
  if (!options.spec.empty()) text += " --spec " + quoted(options.spec);
  if (options.validate) text += " --validate";
  if (options.samples != kDrawn) text += " --samples " + std::to_string(options.samples);
  return text + " --seed " + std::to_string(options.seed) + " --filter " + quoted("^" + pattern + "$");
}

std::vector<SharedCause> shared_causes(const Summary& summary) {
  // What supports refuses is told with the op first: "add of f32, f32 ('add'): ..".
  const auto is_of_an_op = [](const std::string& text) { return op::find(text.substr(0, text.find(' '))) != nullptr; };
  std::map<std::string, std::pair<uint64_t, std::set<std::string>>> causes;
  for (const Result& r : summary.results) {
    const bool missing = r.test->suite == "op" && r.test->required && r.outcome == Outcome::kUnsupported;
    if (!missing || is_of_an_op(r.text)) continue;
    auto& [tests, ops] = causes[clean(r.text)];
    ++tests;
    ops.insert(r.test->group);
  }
  std::vector<SharedCause> out;
  for (const auto& [text, found] : causes)
    if (found.second.size() > 1) out.push_back({text, found.first, found.second.size()});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.tests > b.tests; });
  return out;
}

std::map<int, std::vector<std::string>> missing_ops(const Summary& summary) {
  struct Op {
    uint64_t unsupported = 0, tests = 0;
    int level = 4;
  };
  std::map<std::string, Op> ops;
  for (const Result& r : summary.results) {
    if (r.test->suite != "op" || !r.test->required) continue;
    Op& op = ops[r.test->group];
    ++op.tests;
    if (r.outcome != Outcome::kUnsupported) continue;
    ++op.unsupported;
    op.level = std::min(op.level, r.test->level);
  }
  std::map<int, std::vector<std::string>> missing;
  for (const auto& [name, op] : ops)
    if (op.unsupported)
      missing[op.level].push_back(op.unsupported == op.tests ? name
                                                             : name + " (" + std::to_string(op.unsupported) + " of " +
                                                                   std::to_string(op.tests) + ")");
  return missing;
}

std::vector<std::string> lacking(const Summary& summary) {
  const int next = summary.level() + 1;
  if (next > summary.options.level) return {};
  std::map<std::string, uint64_t> counts;
  std::vector<std::string> order;
  for (const Result& r : summary.results) {
    if (r.test->level > next || !stands_in_the_way(r)) continue;
    const bool failed = r.outcome == Outcome::kFail;
    const std::string key = group_name(*r.test) + " " + (failed ? "failed" : outcome_name(r.outcome));
    if (++counts[key] == 1) order.push_back(key);
  }
  for (std::string& key : order) key += " (" + with_commas(counts[key]) + ")";
  return order.empty() ? std::vector<std::string>{"an op that computes"} : order;
}

// ---- as results come ----

void Progress::header(const std::string& library, const std::string& description) {
  std::fprintf(out_, "%s: %s\n\n", one_line(clean(library).c_str()).c_str(), clean(description).c_str());
  std::fflush(out_);
}

void Progress::add(const Result& result) {
  const std::string group = group_name(*result.test);
  if (group != group_) end_group();
  group_ = group;
  counts_.add(result.outcome);
}

void Progress::end_group() {
  if (counts_.all() == 0) return;
  std::string line;
  const auto part = [&line](uint64_t n, const char* what) {
    if (n) line += " " + with_commas(n) + " " + what;
  };
  part(counts_.pass, "pass");
  part(counts_.fail, "FAIL");
  part(counts_.unsupported, "unsupported");
  part(counts_.unavailable, "unavailable");
  part(counts_.declined, "declined");
  std::fprintf(out_, "%-28s %s\n", group_.c_str(), line.c_str());
  std::fflush(out_);
  counts_ = {};
}

void print_summary(FILE* out, const Summary& summary) {
  print_failures(out, summary);
  print_reasons(out, summary, Outcome::kUnsupported, "Not supported, by the backend's reasons:");
  print_reasons(out, summary, Outcome::kUnavailable, "Not to be tried here:");
  const Counts c = summary.counts();
  if (!summary.filtered()) print_missing(out, summary);
  const std::string declined = c.declined ? ", " + with_commas(c.declined) + " declined" : "";
  std::fprintf(out, "\n%s pass, %s fail, %s unsupported, %s unavailable%s in %.1f s\n", with_commas(c.pass).c_str(),
               with_commas(c.fail).c_str(), with_commas(c.unsupported).c_str(), with_commas(c.unavailable).c_str(),
               declined.c_str(), summary.seconds);
  std::string verdict = "no level, as not all tests ran";
  if (!summary.filtered()) {
    const int level = summary.level();
    if (level >= 0) std::fprintf(out, "level %d: %s\n", level, level_meaning(level));
    print_lacking(out, summary);
    verdict = level < 0 ? "no level" : "level " + std::to_string(level);
  }
  std::string line = verdict + ": " + with_commas(c.fail) + " of " + plural(c.all(), "test") + " failed";
  if (c.unsupported) line += ", " + with_commas(c.unsupported) + " unsupported";
  if (c.unavailable) line += ", " + with_commas(c.unavailable) + " unavailable";
  if (c.declined) line += ", " + with_commas(c.declined) + " declined";
  std::fprintf(out, "%s\n", line.c_str());
}

}  // namespace tenon::conformance
