#include "order.h"

#include <algorithm>
#include <cstdlib>

namespace tenon::conformance {

Order::Order(const Tests& tests, const Control& control) : tests_(tests), control_(control), catches_(tests.size()) {
  for (size_t i = 0; i < tests.size(); ++i) index_[tests[i].id()] = i;
}

void Order::note_catch(const Mutant& mutant, const std::string& test) {
  const auto found = index_.find(test);
  if (found == index_.end()) return;
  ++catches_[found->second];
  catchers_at_[mutant.first].push_back(found->second);
}

std::vector<size_t> Order::changing(const Mutant& m) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < tests_.size(); ++i)
    if (control_.passed(i) && control_.changes(i, m)) out.push_back(i);
  return out;
}

// Each suite by turns: of a suite first the quickest test of each group, then the next of each, .. Most tests are of ops,
// and would leave no time for the others.
std::vector<size_t> Order::by_turns(const std::vector<size_t>& tests) const {
  const auto quicker = [&](size_t a, size_t b) { return control_.seconds(a) < control_.seconds(b); };
  // Deals what is sorted into piles, and takes one of each by turns.
  const auto dealt = [&](const std::vector<size_t>& sorted, auto pile_of) {
    std::map<std::string, size_t> height;
    std::vector<std::pair<size_t, size_t>> turns;
    for (const size_t test : sorted) turns.emplace_back(height[pile_of(tests_[test])]++, test);
    std::stable_sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<size_t> out;
    for (const auto& [turn, test] : turns) out.push_back(test);
    return out;
  };
  std::vector<size_t> sorted = tests;
  std::stable_sort(sorted.begin(), sorted.end(), quicker);
  sorted = dealt(sorted, [](const Test& test) { return test.suite + "/" + test.group; });
  return dealt(sorted, [](const Test& test) { return test.suite; });
}

void Order::lead_with_catchers(const Mutant& m, std::vector<size_t>* order) const {
  constexpr int kNear = 60;  // sites
  constexpr size_t kLeaders = 8;
  std::vector<std::pair<int, size_t>> near;  // distance, test
  for (auto at = catchers_at_.lower_bound(m.first - kNear); at != catchers_at_.end() && at->first <= m.first + kNear;
       ++at)
    for (const size_t test : at->second) near.emplace_back(std::abs(at->first - m.first), test);
  std::sort(near.begin(), near.end());
  std::vector<size_t> leaders, many = *order;
  for (const auto& [distance, test] : near) leaders.push_back(test);
  std::stable_sort(many.begin(), many.end(), [&](size_t a, size_t b) { return catches_[a] > catches_[b]; });
  leaders.insert(leaders.end(), many.begin(),
                 many.begin() + static_cast<std::ptrdiff_t>(std::min(kLeaders, many.size())));
  size_t place = 0;
  for (const size_t test : leaders) {
    const auto begin = order->begin() + static_cast<std::ptrdiff_t>(place);
    const auto found = std::find(begin, order->end(), test);
    if (found == order->end() || place == 2 * kLeaders) continue;
    std::rotate(begin, found, found + 1);
    ++place;
  }
}

std::vector<size_t> Order::for_one(const Mutant& m, double seconds, size_t* reach) const {
  constexpr size_t kLeast = 24;  // tests, if they take no more than a few times the seconds
  std::vector<size_t> order = by_turns(changing(m)), out;
  *reach = order.size();
  lead_with_catchers(m, &order);
  double sum = 0;
  for (const size_t test : order) {
    const double more = sum + control_.seconds(test);
    if (more > (out.size() < kLeast ? 4 * seconds : seconds) && out.size() > 4) continue;
    sum = more;
    out.push_back(test);
  }
  return out;
}

std::vector<size_t> Order::for_group(const Mutants& mutants) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < tests_.size(); ++i)
    if (control_.passed(i) &&
        std::any_of(mutants.begin(), mutants.end(), [&](const Mutant& m) { return control_.reaches(i, m.first); }))
      out.push_back(i);
  std::stable_sort(out.begin(), out.end(),
                   [&](size_t a, size_t b) { return control_.seconds(a) < control_.seconds(b); });
  return out;
}

}  // namespace tenon::conformance
