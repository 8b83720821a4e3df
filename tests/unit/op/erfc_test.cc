// erfc against its values to 17 digits (by mpmath), far into the tail where 1 - erf(x) has no digit left.
#include <cmath>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

const Build kErfc = [](const Tensors& in) { return Tensors{erfc(in[0])}; };

TEST(Erfc, KeepsTheDigitsOfItsTail) {
  const Doubles x{-2, -0.5, 0, 0.5, 1, 2, 5, 10, 26};
  const Doubles expected{1.9953222650189528,    1.5204998778130465,    1,
                         0.4795001221869535,    0.15729920705028513,   0.004677734981047266,
                         1.537459794428035e-12, 2.088487583762545e-45, 5.663192408856143e-296};

  const Doubles y = value(kErfc, {f64({9}, x)});

  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i] / expected[i], 1, 4e-15) << x[i];
}

TEST(Erfc, EndsAtTwoAndZeroAndKeepsNaN) {
  const Doubles y = value(kErfc, {f64({5}, {-kInf, -30, 30, kInf, kNaN})});

  EXPECT_EQ(Doubles(y.begin(), y.end() - 1), (Doubles{2, 2, 0, 0}));
  EXPECT_TRUE(std::isnan(y.back()));
}

}  // namespace
}  // namespace tenon::op_testing
