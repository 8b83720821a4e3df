// A dense layer's gradient and its update in one node are what the two are one after the other.
#include "isa_test.h"

#include "tenon/abi/optimizer.h"

TENON_DECLARE_WIDE_FAMILY(add_matmul)
TENON_DECLARE_WIDE_FAMILY(add_update)

namespace tenon::testing {
namespace {

class ProductUpdate : public IsaTest {
 protected:
  ProductUpdate() {
    TENON_USE_WIDE_FAMILY(add_matmul);
    TENON_USE_WIDE_FAMILY(add_update);
  }

  // Operands of an update of p[m, n] whose gradient operand is g; A at the end where it is given.
  void operands(NodeRun& run, const Dims& g_dims, const Floats& g, bool gate, const Floats* a) {
    run.in(TENON_F32, {m, n}, p).in(TENON_F32, g_dims, g).in(TENON_F32, {}, Floats{0.01f});
    run.in(TENON_I64, {}, std::vector<int64_t>{4}).in(TENON_F32, {}, Floats{0.5f});
    run.in(TENON_BOOL, {}, std::vector<uint8_t>{gate}).absent();
    run.in(TENON_F32, {m, n}, slot1).in(TENON_F32, {m, n}, slot2);
    if (a) run.absent().in(TENON_F32, {k, m}, *a);
    for (int i = 0; i < 3; ++i) run.out(TENON_F32, {m, n});
  }
  static void hyper(plugin::GraphBuilder& node) {
    node.attr_f64("b1", 0.9).attr_f64("b2", 0.999).attr_f64("eps", 1e-7);
  }

  int64_t m = 0, n = 0, k = 0;
  Floats p, slot1, slot2;
};
INSTANTIATE_TEST_SUITE_P(Isa, ProductUpdate, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(ProductUpdate, IsProductThenUpdate) {
  const Dims sizes[] = {{784, 128, 64}, {1001, 300, 32}, {70, 1030, 5}, {2000, 33, 384}};
  for (const Dims& s : sizes) {
    SCOPED_TRACE(::testing::PrintToString(s));
    m = s[0], n = s[1], k = s[2];
    p = random(m * n), slot1 = random(m * n), slot2 = random(m * n, 0, 1);
    const Floats a = random(k * m), b = random(k * n);
    const Floats g = run(1, [&](NodeRun& r) {
                       r.in(TENON_F32, {k, m}, a).in(TENON_F32, {k, n}, b).out(TENON_F32, {m, n});
                       r.op("dot").attr_bool("ta", true).attr_bool("tb", false);
                     }).get(0);
    for (bool gate : {true, false}) {
      const Results apart = run(3, [&](NodeRun& r) {
        operands(r, {m, n}, g, gate, nullptr);
        hyper(r.op("adam_update"));
      });
      const Results together = run(3, [&](NodeRun& r) {
        operands(r, {k, n}, b, gate, &a);
        hyper(r.op("cpu.product.adam_update"));
      });
      for (size_t i = 0; i < 3; ++i) expect_near(together.get(i), apart.get(i), 1e-6);
      if (!gate) {
        EXPECT_EQ(together.get(0), p);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::testing
