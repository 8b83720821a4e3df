// A dense layer's gradient and its update in one node are what the two are one after the other.
#include "pairs_fixture.h"

#include "tenon/abi/optimizer.h"

TENON_DECLARE_WIDE_FAMILY(add_update)

namespace tenon::testing {
namespace {

class ProductUpdate : public IsaTest {
 protected:
  ProductUpdate() {
    TENON_USE_WIDE_FAMILY(add_matmul);
    TENON_USE_WIDE_FAMILY(add_update);
  }

  void draw(const Dims& size) {
    m = size[0], n = size[1], k = size[2];
    p = random(m * n), slot1 = random(m * n), slot2 = random(m * n, 0, 1);
  }
  Results gradient(const Floats& a, const Floats& b) {
    return run(1, [&](NodeRun& r) {
      r.in(TENON_F32, {k, m}, a).in(TENON_F32, {k, n}, b).out(TENON_F32, {m, n});
      r.op("dot").attr_bool("ta", true).attr_bool("tb", false);
    });
  }
  // Updates p[m, n], the gradient operand g; A at the end where it is given.
  Results update(const char* op, const Dims& g_dims, const Floats& g, bool gate, const Floats* a) {
    return run(3, [&](NodeRun& r) {
      operands(r, g_dims, g, gate, a);
      r.op(op).attr_f64("b1", 0.9).attr_f64("b2", 0.999).attr_f64("eps", 1e-7);
    });
  }

  int64_t m = 0, n = 0, k = 0;
  Floats p, slot1, slot2;

 private:
  void operands(NodeRun& run, const Dims& g_dims, const Floats& g, bool gate, const Floats* a) {
    run.in(TENON_F32, {m, n}, p).in(TENON_F32, g_dims, g).in(TENON_F32, {}, Floats{0.01f});
    run.in(TENON_I64, {}, std::vector<int64_t>{4}).in(TENON_F32, {}, Floats{0.5f});
    run.in(TENON_BOOL, {}, std::vector<uint8_t>{gate}).absent();
    run.in(TENON_F32, {m, n}, slot1).in(TENON_F32, {m, n}, slot2);
    if (a) run.absent().in(TENON_F32, {k, m}, *a);
    for (int i = 0; i < 3; ++i) run.out(TENON_F32, {m, n});
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, ProductUpdate, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(ProductUpdate, IsProductThenUpdate) {
  const Dims sizes[] = {{784, 128, 64}, {1001, 300, 32}, {70, 1030, 5}, {2000, 33, 384}};
  for (const Dims& s : sizes) {
    SCOPED_TRACE(::testing::PrintToString(s));
    draw(s);
    const Floats a = random(k * m), b = random(k * n), g = gradient(a, b).get(0);
    for (bool gate : {true, false}) {
      const Results apart = update("adam_update", {m, n}, g, gate, nullptr);
      const Results together = update("cpu.product.adam_update", {k, n}, b, gate, &a);
      for (size_t i = 0; i < 3; ++i) expect_near(together.get(i), apart.get(i), 1e-6);
      if (!gate) {
        EXPECT_EQ(together.get(0), p);
      }
    }
  }
}

// The sums are rounded to bf16 as they are in memory between the two. Moments may be subnormal, as the products may not.
class PairUpdate : public Pairs {
 protected:
  PairUpdate() {
    (GetParam() == "amx" || GetParam() == "avx512_bf16") ? cpu::avx512::add_update(table_) : use_updates();
  }

  // p, m and v of Adam where the gradient operand is g; A at the end where it is given.
  Results update(const char* op, const Dims& dims, const Dims& g_dims, const Halves& g, int64_t k, const Halves* a) {
    return run(3, [&](NodeRun& r) {
      r.in(TENON_F32, dims, p).in(TENON_BF16, g_dims, g).in(TENON_F32, {}, Floats{0.01f});
      r.in(TENON_I64, {}, std::vector<int64_t>{4}).absent().absent().absent();
      r.in(TENON_F32, dims, slot1).in(TENON_F32, dims, slot2);
      if (a) r.absent().in(TENON_BF16, {k, dims[0]}, *a);
      for (int i = 0; i < 3; ++i) r.out(TENON_F32, dims);
      r.op(op).attr_f64("b1", 0.9).attr_f64("b2", 0.999).attr_f64("eps", 1e-7);
    });
  }

  Floats p, slot1, slot2;

 private:
  void use_updates() { TENON_USE_WIDE_FAMILY(add_update); }
};
INSTANTIATE_TEST_SUITE_P(Isa, PairUpdate, ::testing::ValuesIn(pair_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(PairUpdate, HasTheBitsOfProductThenUpdate) {
  const Dims sizes[] = {{784, 128, 64}, {1001, 300, 33}, {70, 1030, 5}, {2000, 33, 384}};
  for (const Dims& s : sizes) {
    SCOPED_TRACE(::testing::PrintToString(s));
    const int64_t m = s[0], n = s[1], k = s[2];
    p = random(m * n), slot1 = random(m * n), slot2 = random(m * n, 0, 1);
    for (size_t i = 0; i < slot1.size(); i += 3) slot1[i] *= 1e-38f, slot2[i] *= 1e-40f;
    const Halves a = numbers(k * m, -4, 2), b = numbers(k * n, -4, 2);
    const Halves g = run(1, [&](NodeRun& r) {
                       r.in(TENON_BF16, {k, m}, a).in(TENON_BF16, {k, n}, b).out(TENON_BF16, {m, n});
                       r.op("dot").attr_bool("ta", true).attr_bool("tb", false);
                     }).get<uint16_t>(0);
    const Results apart = update("adam_update", {m, n}, {m, n}, g, k, nullptr);
    const Results together = update("cpu.product.adam_update", {m, n}, {k, n}, b, k, &a);
    for (size_t i = 0; i < 3; ++i) {
      if (by_tiles())  // whose sums have another order
        expect_near(together.get(i), apart.get(i), 1e-2);
      else
        EXPECT_EQ(together.get(i), apart.get(i)) << "result " << i;
    }
  }
}

}  // namespace
}  // namespace tenon::testing
