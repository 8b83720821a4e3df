// Every op of the op set on cpu.so, whole and lowered to primitives, against the references.
#include <algorithm>
#include <cmath>

#include "compile/rewrite.h"
#include "conformance/reference/error_bound.h"
#include "integration/device_cases.h"

namespace tenon::device_testing {

const Cases& all_cases() {
  static const auto& cases = *[] {
    auto* all = new Cases;
    add_elementwise_cases(*all);
    add_movement_cases(*all);
    add_contraction_cases(*all);
    add_network_cases(*all);
    add_update_cases(*all);
    return all;
  }();
  return cases;
}

namespace {

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpDef* op : all_ops()) names.push_back(op->name);
  return names;
}

bool is_f32(const Case& c) {
  return c.feeds[0].type.dtype == DType::kF32 &&
         std::all_of(c.feeds.begin(), c.feeds.end(), [](const Feed& f) { return f.type.dtype == DType::kF32 || !is_float(f.type.dtype); });
}

// Selections turn on ties that a moved input would break.
bool selects(const std::string& op) { return op == "max_pool" || op == "max_pool_grad" || op == "affine_image"; }

void allow_other_order(Expected& expected, double ulps) {
  for (size_t r = 0; r < expected.values.size(); ++r) {
    const reference::Tensor& y = expected.values[r];
    double largest = 0;
    for (double v : y.f)
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    const double ulp = reference::spacing(y.dtype == TENON_F64 ? TENON_F64 : TENON_F32, largest);
    for (size_t e = 0; e < y.f.size(); ++e)
      if (std::isfinite(y.f[e])) expected.tolerances[r].f[e] += ulps * ulp;
  }
}

void expect_close(const std::vector<reference::Tensor>& found, const Expected& expected) {
  ASSERT_EQ(found.size(), expected.values.size());
  for (size_t r = 0; r < found.size(); ++r)
    EXPECT_EQ(reference::mismatch(found[r], expected.values[r], expected.tolerances[r]), "") << "result " << r;
}

void expect_runs(const Built& built, const Expected& expected) {
  const Result<std::vector<reference::Tensor>> found = run_on(cpu(), built);
  ASSERT_TRUE(found.ok()) << found.status().message();
  expect_close(*found, expected);
}

void check(const Case& c) {
  Built built = build_graph(c.build, c.feeds);
  const Status valid = verify(built.graph);
  ASSERT_TRUE(valid.ok()) << valid.message();
  const Result<Graph> lowered = lower(built.graph, *cpu());
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  if (is_f32(c) && op_testing::count(simplify(built.graph), c.op) > 0) {
    EXPECT_EQ(op_testing::count(*lowered, c.op) > 0, c.whole) << "taken whole";
  }
  Expected expected = expect_of(built, !selects(c.op));
  allow_other_order(expected, c.order);
  {
    SCOPED_TRACE("whole");
    expect_runs(built, expected);
  }
  if (find_op(c.op)->primitive()) return;
  SCOPED_TRACE("by primitives");
  built.graph = lower_to_primitives(built.graph);
  expect_runs(built, expected);
}

class DeviceOp : public testing::TestWithParam<std::string> {};

TEST_P(DeviceOp, EqualsItsReference) {
  int tried = 0;
  for (const Case& c : all_cases()) {
    if (c.op != GetParam()) continue;
    SCOPED_TRACE(c.what);
    check(c);
    ++tried;
    if (testing::Test::HasFailure()) break;  // the first is enough
  }
  EXPECT_GT(tried, 0) << "no case for " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(All, DeviceOp, testing::ValuesIn(op_names()), [](const auto& info) { return info.param; });

TEST(DeviceOps, AreNinetyTwo) { EXPECT_EQ(all_ops().size(), 92u); }

}  // namespace
}  // namespace tenon::device_testing
