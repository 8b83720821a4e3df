// What the corpus's expectations are worth: tolerances that a wrong result does not fit into.
#include <algorithm>
#include <cmath>

#include "unit/conformance/cases.h"

namespace tenon::conformance {
namespace {

bool has_licence(const Case& c) {
  const GraphView view(*c.lowered.graph());
  for (uint32_t i = 0; i < view.n_nodes(); ++i)
    if (view.node(i).find("precision") && view.node(i).enumerator("precision") != TENON_PRECISION_HIGHEST) return true;
  return false;
}

// The median of a result's tolerances relative to its largest element; 0 where there is none that is not 0.
double looseness(const Tensor& value, Tensor tolerance) {
  double largest = 0;
  for (double v : value.f)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  if (largest == 0) return 0;
  const auto middle = tolerance.f.begin() + static_cast<std::ptrdiff_t>(tolerance.f.size() / 2);
  std::nth_element(tolerance.f.begin(), middle, tolerance.f.end());
  return *middle / largest;
}

// The widest are those of a long sum of numbers of both signs and of the gradient of a norm of one element.
TEST(Tolerances, AreNarrowInF32) {
  int seen = 0;
  for (const Case& c : built_in_corpus()) {
    if ((c.kind != Case::kOp && c.kind != Case::kGradient) || c.min_memory || has_licence(c)) continue;
    const Expected e = expect_of(c, inputs_of(c, 1));
    for (size_t r = 0; r < e.values.size(); ++r) {
      if (e.values[r].dtype != TENON_F32) continue;
      ++seen;
      EXPECT_LT(looseness(e.values[r], e.tolerances[r]), 0.02) << c.op << " " << c.name << " result " << r;
      EXPECT_TRUE(std::all_of(e.tolerances[r].f.begin(), e.tolerances[r].f.end(),
                              [](double t) { return t >= 0 && std::isfinite(t); }))
          << c.op << " " << c.name << " result " << r;
    }
  }
  EXPECT_GT(seen, 1500);
}

}  // namespace
}  // namespace tenon::conformance
