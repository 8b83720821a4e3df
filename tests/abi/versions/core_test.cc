// Backends of other versions than the core's: loaded, and trained on.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/device.h"
#include "backend/registry.h"

namespace tenon {
namespace {

constexpr int kSteps = 20, kSize = 4;
const Type kVector{DType::kF32, {kSize}};

// d = w - t; loss = d d; w' = w - (d + d) lr
GraphImage make_graph() {
  GraphImage g;
  const int64_t w = g.input(kVector, GraphImage::Role::kState, false, "w"),
                t = g.input(kVector, GraphImage::Role::kState, false, "t");
  const int64_t lr = g.input({DType::kF32, {}}, GraphImage::Role::kScalar, false, "lr");
  const auto add_node = [&](const char* op, const char* name, int64_t a, int64_t b) -> int64_t {
    const int64_t operands[] = {a, b}, results[] = {g.value(kVector)};
    g.node(op, 1, name, name, operands, results);
    return results[0];
  };
  const int64_t d = add_node("sub", "d", w, t), loss = add_node("mul", "loss", d, d);
  const int64_t step = add_node("mul", "step", add_node("add", "d2", d, d), lr),
                next = add_node("sub", "next", w, step);
  g.result(static_cast<uint32_t>(next), GraphImage::Mode::kLast, 0, false);
  g.result(static_cast<uint32_t>(loss), GraphImage::Mode::kEach, -1, false);
  g.finish();
  return g;
}

class Version : public testing::TestWithParam<const char*> {};

TEST_P(Version, IsLoadedAndTrains) {
  auto device = open_device(GetParam()).take();
  ASSERT_EQ(device->units().size(), 1u);
  EXPECT_EQ(device->units()[0].name, GetParam());
  const GraphImage graph = make_graph();
  const uint32_t nodes[] = {0, 1, 2, 3, 4};
  for (const NodeVerdict& v : device->supports(graph, nodes, {}).take())
    EXPECT_EQ(v.answer, NodeVerdict::Answer::kTake);
  const Program program = device->compile(graph, {.max_iterations = kSteps}).take();
  Queue queue = device->create_queue().take();
  const Buffer w = device->allocate(kVector).take(), t = device->allocate(kVector, true).take();
  const Buffer loss = device->allocate({DType::kF32, {kSteps, kSize}}, true).take();
  float expected[kSize] = {0, 1, 2, 3}, found[kSize];
  ASSERT_TRUE(queue.write(w, expected, sizeof expected).ok());
  std::fill_n(static_cast<float*>(t.host()), kSize, 1.0f);
  Launch launch(program, 2, 2, 1, kSteps);
  launch.set_input(0, w), launch.set_input(1, t), launch.set_result(0, w), launch.set_result(1, loss);
  for (int i = 0; i < kSteps; ++i) launch.set_scalar(i, 0, 0.125);
  EXPECT_EQ(queue.run(launch, kSteps).take(), static_cast<uint32_t>(kSteps));
  for (int i = 0; i < kSteps; ++i)
    for (int k = 0; k < kSize; ++k) {
      const float d = expected[k] - 1;
      EXPECT_EQ(static_cast<const float*>(loss.host())[i * kSize + k], d * d);
      expected[k] -= (d + d) * 0.125f;
    }
  ASSERT_TRUE(queue.read(w, found, sizeof found).ok());
  for (int k = 0; k < kSize; ++k) EXPECT_EQ(found[k], expected[k]);
}

INSTANTIATE_TEST_SUITE_P(Backends, Version, testing::Values("oldest", "present", "future"));

}  // namespace
}  // namespace tenon
