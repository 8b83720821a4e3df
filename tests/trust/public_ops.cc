#include "public_functions.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

// Lists that no list of sizes, or of axes, is.
const std::vector<Ints> kNoSizes = {{-1, 3}, {kLeast, 3}, {kMost, kMost}, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
const std::vector<Ints> kNoAxes = {{9}, {-9}, {kMost}, {kLeast}, {0, 0}};

#define UNARY(f)                           \
  {                                        \
#f, [](A & a) { f(a.floats({2, 3})); } \
  }
#define UNARY_OF_NUMBERS(f)                 \
  {                                         \
#f, [](A & a) { f(a.numbers({2, 3})); } \
  }
#define BINARY(f)                                                            \
  {                                                                          \
#f, [](A& a) { auto x = a.numbers({2, 3}), y = a.numbers({2, 3}); f(x, y); } \
  }
#define REDUCTION(f)                                                                                \
  {                                                                                                 \
#f, [](A& a) { auto x = a.any({2, 3}); f(x, a.list({1}, {{9}, {-9}, {kMost}, {kLeast}, {0, 0}})); } \
  }
const std::vector<Function> kOps = {
    UNARY_OF_NUMBERS(neg),
    UNARY_OF_NUMBERS(abs),
    UNARY(floor),
    UNARY(round),
    UNARY(exp),
    UNARY(expm1),
    UNARY(log),
    UNARY(log1p),
    UNARY(sqrt),
    UNARY(sin),
    UNARY(cos),
    UNARY(tanh),
    UNARY(erf),
    UNARY(erfc),
    UNARY_OF_NUMBERS(square),
    UNARY_OF_NUMBERS(sign),
    REDUCTION(reduce_mean),
    {"logsumexp",
     [](A& a) {
       auto x = a.floats({2, 3});
       logsumexp(x, a.list({1}, kNoAxes));
     }},
    {"constant",
     [](A& a) {
       constant(a.graph(), {DType::kF32, a.shape({2, 3}, {{-1}, {kMost, kMost}})}, "1234");
     }},
    {"full",
     [](A& a) {
       auto s = a.shape({2, 3}, {{-1}, {kMost, kMost}, {kLarge, 8}});
       full(a.graph(), DType::kF32, s, 1);
     }},
    {"iota",
     [](A& a) {
       auto s = a.shape({2, 3}, {{-1}, {kMost, kMost}, {}});
       iota(a.graph(), DType::kI32, s, a.axis(1));
     }},
    {"random",
     [](A& a) {
       auto seed = a.tensor(DType::kI64, {}, {DType::kF32, DType::kBool}, true),
            step = a.tensor(DType::kI64, {}, {DType::kF32}, true);
       random(seed, step, 1, a.shape({4}, {{-1}, {kMost, kMost}}));
     }},
    {"select",
     [](A& a) {
       auto c = a.tensor(DType::kBool, {2, 3}, {DType::kF32});
       auto x = a.any({2, 3});
       select(c, x, a.any({2, 3}));
     }},
    {"compare",
     [](A& a) {
       auto x = a.any({2, 3}), y = a.any({2, 3});
       compare(x, y, a.one_of(CompareKind::kLt));
     }},
    {"cast",
     [](A& a) {
       auto x = a.any({2, 3});
       cast(x, a.one_of(DType::kI32));
     }},
    {"reshape",
     [](A& a) {
       auto x = a.any({2, 3});
       reshape(x, a.shape({3, 2}, {{-1, 6}, {7}, {kMost, 2}, {}}));
     }},
    {"transpose",
     [](A& a) {
       auto x = a.any({2, 3});
       transpose(x, a.list({1, 0}, {{0, 0}, {0}, {0, 2}, {-1, 0}, {kMost, 0}, {}}));
     }},
    {"broadcast",
     [](A& a) {
       auto x = a.any({2, 1});
       auto s = a.shape({4, 2, 3}, {{4, 3, 3}, {-1, 2, 3}, {2}});
       broadcast(x, s, a.list({1, 2}, {{2, 1}, {1}, {1, 9}, {-9, 1}, {kMost, 1}, {}}));
     }},
    {"broadcast_to",
     [](A& a) {
       auto x = a.any({2, 1});
       broadcast_to(x, a.shape({4, 2, 3}, {{4, 3, 3}, {2}, {-1, 2, 3}}));
     }},
    {"slice",
     [](A& a) {
       auto x = a.any({8});
       auto s = a.list({1}, {{-1}, {9}, {kMost}, {kLeast}, {}, {0, 0}}),
            l = a.list({7}, {{9}, {-1}, {kMost}, {kLeast}, {}});
       slice(x, s, l, a.list({2}, {{0}, {-1}, {kLeast}, {1, 1}}));
     }},
    {"pad",
     [](A& a) {
       auto x = a.any({8});
       auto l = a.list({1}, {{-1}, {kMost}, {kLeast}, {}}), h = a.list({1}, {{-1}, {kMost}, {kLeast}, {}});
       pad(x, l, h, a.list({0}, {{-1}, {kMost}, {1, 1}}), 0);
     }},
    {"concat",
     [](A& a) {
       auto x = a.any({2, 3}, true);
       auto y = a.tensor(DType::kF32, {2, 3}, {DType::kI32});
       concat({x, y}, a.axis(0));
     }},
    {"reverse",
     [](A& a) {
       auto x = a.any({2, 3});
       reverse(x, a.list({1}, kNoAxes));
     }},
    {"gather",
     [](A& a) {
       auto x = a.any({5, 3});
       auto i = a.indices({4});
       auto axis = a.axis(0);
       gather(x, i, axis, 0);
     }},
    {"scatter",
     [](A& a) {
       auto x = a.any({5, 3}, true);
       auto i = a.indices({4}, true);
       auto u = a.any({4, 3}, true);
       auto axis = a.axis(0);
       scatter(x, i, u, axis, 0, a.one_of(ScatterKind::kAdd));
     }},
    {"sort",
     [](A& a) {
       auto x = a.numbers({5});
       sort(x, a.size(2), true);
     }},
    {"top_k",
     [](A& a) {
       auto x = a.numbers({5});
       top_k(x, a.size(2));
     }},
    {"reduce",
     [](A& a) {
       auto x = a.any({2, 3});
       auto axes = a.list({1}, kNoAxes);
       reduce(x, axes, a.one_of(ReduceKind::kSum));
     }},
    {"dot",
     [](A& a) {
       auto x = a.floats({2, 3}, true), y = a.floats({3, 5});
       dot(x, y, {.precision = a.one_of(MathPrecision::kHigh)});
     }},
    {"conv",
     [](A& a) {
       auto x = a.floats({1, 8, 8, 4}, true), w = a.floats({3, 3, 4, 6});
       ConvOptions o;
       o.strides = a.list({1, 1}, {{0, 1}, {-1, 1}, {kMost, kLeast}, {1}, {1, 1, 1}});
       o.low = a.list({1, 1}, {{-9, 0}, {kLeast, 1}, {kMost, 1}, {1}});
       o.dilation = a.list({1, 1}, {{0, 1}, {kMost, 1}, {-1, 1}, {9, 9}});
       o.groups = a.size(1);
       conv(x, w, o);
     }},
    {"max_pool",
     [](A& a) {
       auto x = a.floats({1, 8, 8, 4});
       PoolOptions o;
       o.window = a.list({2, 2}, {{0, 2}, {-1, 2}, {kMost, 2}, {2}, {99, 2}, {}});
       o.strides = a.list({2, 2}, {{0, 2}, {-1, 2}, {2}});
       o.low = a.list({0, 0}, {{-1, 0}, {9, 0}, {kMost, 0}});
       max_pool(x, o);
     }},
    {"avg_pool",
     [](A& a) {
       auto x = a.floats({1, 8, 8, 4});
       PoolOptions o;
       o.window = a.list({2, 2}, {{0, 2}, {-1, 2}, {kMost, 2}, {2}, {99, 2}, {}});
       o.strides = a.list({2, 2}, {{0, 2}, {-1, 2}, {2}});
       avg_pool(x, o);
     }},
    {"activation",
     [](A& a) {
       auto x = a.floats({2, 3});
       auto act = a.one_of(Activation::kElu);
       activation(x, act, a.finite(1));
     }},
    {"batch_norm",
     [](A& a) {
       auto x = a.floats({4, 3}, true), g = a.floats({3}, true), b = a.floats({3}, true);
       batch_norm(x, g, b, {}, {.eps = a.within(1e-3, {-1})});
     }},
    {"layer_norm",
     [](A& a) {
       auto x = a.floats({4, 3}), g = a.floats({3});
       auto axes = a.list({1}, {{9}, {kMost}, {-9}, {}});
       layer_norm(x, g, {}, axes, a.within(1e-3, {-1}));
     }},
    {"softmax",
     [](A& a) {
       auto x = a.floats({4, 3});
       softmax(x, a.axis(1));
     }},
    {"log_softmax",
     [](A& a) {
       auto x = a.floats({4, 3});
       log_softmax(x, a.axis(1));
     }},
    {"softmax_cross_entropy_per_example",
     [](A& a) {
       auto x = a.floats({4, 3}), l = a.tensor(DType::kI32, {4}, {DType::kBool}, true);
       CrossEntropyOptions o;
       o.on = a.finite(1);
       o.off = a.finite(0);
       softmax_cross_entropy_per_example(x, l, o);
     }},
    {"dropout (op)",
     [](A& a) {
       auto x = a.floats({4, 3}), seed = a.tensor(DType::kI64, {}, {DType::kF32}, true),
            step = a.tensor(DType::kI64, {}, {DType::kF32}, true);
       dropout(x, seed, step, Tensor(), a.within(0.5, {-0.5, 2}), 1);
     }},
    {"attention",
     [](A& a) {
       auto q = a.floats({1, 2, 4, 8}, true), k = a.floats({1, 2, 4, 8}, true), v = a.floats({1, 2, 4, 8});
       attention(q, k, v, {}, {}, {}, {.scale = a.finite(1)});
     }},
    {"lstm",
     [](A& a) {
       auto x = a.floats({1, 2, 3}, true), h = a.floats({1, 4}, true), c = a.floats({1, 4}, true),
            w = a.floats({3, 16}, true), r = a.floats({4, 16}, true);
       lstm(x, h, c, w, r, a.floats({16}, true));
     }},
    {"gru",
     [](A& a) {
       auto x = a.floats({1, 2, 3}, true), h = a.floats({1, 4}, true), w = a.floats({3, 12}, true),
            r = a.floats({4, 12}, true), b = a.floats({12}, true);
       gru(x, h, w, r, b, a.floats({12}, true));
     }},
    {"global_norm",
     [](A& a) {
       auto x = a.floats({1, 2});
       global_norm({x, a.floats({3})});
     }},
    {"resize",
     [](A& a) {
       auto x = a.floats({1, 4, 4, 3});
       auto h = a.size(8), w = a.size(8);
       auto m = a.one_of(ResizeMethod::kBilinear);
       resize(x, h, w, m, a.one_of(Coordinates::kHalfPixel));
     }},
    {"affine_image",
     [](A& a) {
       auto x = a.any({2, 4, 4, 3}), t = a.floats({2, 8}, true);
       auto h = a.size(8), w = a.size(8);
       affine_image(x, t, h, w, a.one_of(ResizeMethod::kBilinear), a.one_of(FillMode::kWrap));
     }},
    {"crop_flip",
     [](A& a) {
       auto x = a.any({2, 4, 4, 3}), t = a.indices({2}, true), l = a.indices({2}, true),
            f = a.tensor(DType::kBool, {2}, {DType::kF32}, true);
       auto h = a.size(2);
       crop_flip(x, t, l, f, h, a.size(2));
     }},
    {"argmax",
     [](A& a) {
       auto x = a.numbers({4, 3});
       argmax(x, a.axis(1));
     }},
    {"dimension_size",
     [](A& a) {
       auto x = a.any({4, 3});
       dimension_size(x, a.axis(1));
     }},
    {"cumsum",
     [](A& a) {
       auto x = a.numbers({4, 3});
       cumsum(x, a.axis(1));
     }},
    {"expand_dims",
     [](A& a) {
       auto x = a.any({4, 3});
       expand_dims(x, a.axis(1));
     }},
    {"clamp",
     [](A& a) {
       auto x = a.any({4, 3});
       auto low = a.no_nan(0);
       clamp(x, low, a.list({1}, {{-3}})[0]);
     }},
    {"one_hot",
     [](A& a) {
       auto i = a.indices({4});
       one_hot(i, a.size(3));
     }},
    {"all_gather",
     [](A& a) {
       auto x = a.any({4, 3});
       auto axis = a.axis(0);
       all_gather(x, axis);
     }},
    BINARY(add),
    BINARY(sub),
    BINARY(mul),
    BINARY(div),
    {"pow",
     [](A& a) {
       auto x = a.floats({2, 3});
       pow(x, a.floats({2, 3}));
     }},
    {"atan2",
     [](A& a) {
       auto x = a.floats({2, 3});
       atan2(x, a.floats({2, 3}));
     }},
};

#undef UNARY
#undef UNARY_OF_NUMBERS
#undef BINARY
#undef REDUCTION

}  // namespace

const std::vector<Function>& op_functions() { return kOps; }

}  // namespace tenon::public_arguments
