// Updates of embeddings: the rows of a gradient, and a gate, on each device as the core uses it.
#include <cmath>

#include "backend/registry.h"
#include "integration/device_testing.h"
#include "op/rules.h"

namespace tenon::device_testing {
namespace {

struct Kind {
  const char* op;
  Attrs attrs;
  int slots;
};
const Kind kKinds[] = {{"sgd_update", {}, 0},
                       {"momentum_update", {{"mu", 0.9}}, 1},
                       {"adam_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, 2},
                       {"adagrad_update", {{"eps", 1e-7}}, 1}};

constexpr int64_t kRows = 50, kColumns = 24;

// A table, its slots, indices that come again and are out of range, and the gradient of what was looked up.
std::vector<Feed> feeds(const Kind& kind) {
  std::vector<Feed> out{random_feed(DType::kF32, {kRows, kColumns}, 1),
                        repeated(DType::kI32, {3, 5}, {1, 7, 7, 49, 50, -1, 0, 7, 1, 20, 20, 21, 3, 1, 2}),
                        random_feed(DType::kF32, {3, 5, kColumns}, 2),
                        repeated(DType::kF32, {}, {0.05}),
                        repeated(DType::kI64, {}, {3}),
                        repeated(DType::kBool, {}, {0})};
  for (int k = 0; k < kind.slots; ++k) out.push_back(random_feed(DType::kF32, {kRows, kColumns}, 3 + k, 0.1, 1));
  return out;
}

Tensors updated(const Kind& kind, const Tensors& x, Tensor g, Tensor gate) {
  Tensors operands{x[0], g, x[3], x[4], Tensor(), gate, Tensor()};
  operands.insert(operands.end(), x.begin() + 6, x.end());
  return emit_all(kind.op, operands, kind.attrs);
}

Tensor gradient(const Tensors& x) { return scatter(full_like(x[0], 0), x[1], x[2], 0, 0, ScatterKind::kAdd); }

int updates_with_rows(const Graph& graph) {
  int n = 0;
  for (const Node& node : graph.nodes)
    n += std::string_view(node.op).ends_with("_update") && node.operands.size() > 6 && node.operands[6] >= 0;
  return n;
}

class UpdatesOfRows : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<std::shared_ptr<Device>> opened = open_device(GetParam());
    if (!opened.ok()) GTEST_SKIP() << opened.status().message();
    device_ = *opened;
  }
  std::vector<reference::Tensor> run(const Kind& kind, const Build& build) {
    return run_on(device_, build_graph(build, feeds(kind))).take();
  }
  std::shared_ptr<Device> device_;
};

// A gradient that is a result too has two readers, and stays dense.
TEST_P(UpdatesOfRows, AreThoseOfTheDenseGradient) {
  for (const Kind& kind : kKinds) {
    const auto rows = run(kind, [&](const Tensors& x) { return updated(kind, x, gradient(x), {}); });
    const auto dense = run(kind, [&](const Tensors& x) {
      const Tensor g = gradient(x);
      Tensors out = updated(kind, x, g, {});
      out.push_back(g);
      return out;
    });
    ASSERT_EQ(rows.size() + 1, dense.size());
    for (size_t r = 0; r < rows.size(); ++r) EXPECT_EQ(rows[r].f, dense[r].f) << kind.op << ", result " << r;
  }
}

TEST_P(UpdatesOfRows, LeaveAllAsItIsBehindAClosedGate) {
  for (const Kind& kind : kKinds) {
    const auto closed = run(kind, [&](const Tensors& x) { return updated(kind, x, gradient(x), x[5]); });
    const Built given = build_graph([&](const Tensors& x) { return Tensors{x[0]}; }, feeds(kind));
    EXPECT_EQ(closed[0].f, given.inputs[0].f) << kind.op;
    for (size_t k = 1; k < closed.size(); ++k) EXPECT_EQ(closed[k].f, given.inputs[5 + k].f) << kind.op << k;
  }
}

// 0 times infinity is no number: such a scale reaches the rows that nothing was given for too.
TEST_P(UpdatesOfRows, OfAScaleThatIsInfiniteReachEveryRow) {
  const auto scaled = run(kKinds[0], [&](const Tensors& x) {
    const Tensor scale = 1 / cast(x[5], DType::kF32);
    return emit_all("sgd_update", {x[0], gradient(x), x[3], x[4], scale}, {});
  });
  for (const double p : scaled[0].f) ASSERT_FALSE(std::isfinite(p));
}

INSTANTIATE_TEST_SUITE_P(Devices, UpdatesOfRows, testing::Values("cpu", "opencl-gpu", "tpu-emulator:v3-8"),
                         [](const auto& info) { return std::string(info.param).substr(0, 3); });

TEST(UpdatesOfRowsOnCpu, AreTakenAsRows) {
  for (const Kind& kind : kKinds) {
    const Built built = build_graph([&](const Tensors& x) { return updated(kind, x, gradient(x), {}); }, feeds(kind));
    EXPECT_EQ(updates_with_rows(lower(built.graph, *cpu(), {}).take()), 1) << kind.op;
  }
}

}  // namespace
}  // namespace tenon::device_testing
