// Same bits: from run to run, from compilation to compilation, on one thread and on several.
#include <algorithm>
#include <cmath>
#include <map>

#include "conformance/lowering.h"
#include "conformance/suites/cases.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

using Tensors = std::vector<reference::Tensor>;

constexpr uint64_t kLargest = 1u << 18;  // elements of a case

// NaN has many bit patterns, all of them the same answer.
bool same_bits(const reference::Tensor& a, const reference::Tensor& b) {
  const auto equal = [](double x, double y) { return (x == y && std::signbit(x) == std::signbit(y)) || (x != x && y != y); };
  return a.i == b.i && std::equal(a.f.begin(), a.f.end(), b.f.begin(), b.f.end(), equal);
}

void expect_same(const Tensors& found, const Tensors& first, const std::string& when) {
  for (size_t r = 0; r < first.size(); ++r)
    expect(same_bits(found[r], first[r]), "result " + std::to_string(r) + " has other bits " + when);
}

void has_the_same_bits(Subject& s, const Case& c) {
  const plugin::FlatGraph graph = lowered_for(s, s.device(), c);
  const Tensors inputs = inputs_of(c, s.seed());
  tenon_options options{};
  options.struct_size = sizeof options;
  options.flags = TENON_OPTION_DETERMINISTIC;
  const Tensors first = run_graph(s, *graph.graph(), inputs, Place::kDevice, options);
  expect_same(run_graph(s, *graph.graph(), inputs, Place::kDevice, options), first, "when it runs again");
  for (uint32_t threads : {1, 2}) {
    s.limit_gang(threads);
    const Tensors again = run_graph(s, *graph.graph(), inputs, Place::kDevice, options);
    s.limit_gang(0);
    expect_same(again, first, "on " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
  }
}

// The largest f32 case of each op, which is the likeliest to be split among threads.
std::vector<const Case*> largest_of_each_op() {
  std::map<std::string, const Case*> largest;
  for (const Case* c : cases_of(Case::kOp)) {
    if (!is_plain(*c->whole.graph()) || case_size(*c) > kLargest) continue;
    const Case*& best = largest[c->op];
    if (!best || case_size(*c) > case_size(*best)) best = c;
  }
  std::vector<const Case*> out;
  for (const auto& [op, c] : largest) out.push_back(c);
  return out;
}

}  // namespace

void add_determinism_tests(Tests& tests) {
  std::vector<const Case*> cases = largest_of_each_op();
  for (const Case* c : cases_of(Case::kInference)) cases.push_back(c);
  for (const Case* c : cases)
    tests.push_back(test_of("determinism", *c, 2, false, [c](Subject& s) { has_the_same_bits(s, *c); }));
}

}  // namespace tenon::conformance
