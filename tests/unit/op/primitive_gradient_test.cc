// The gradient of every primitive that has one, by central differences in f64.
#include <cmath>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

Build unary(Tensor (*f)(Tensor)) {
  return [f](const Tensors& in) { return Tensors{f(in[0])}; };
}
Build binary(Tensor (*f)(Tensor, Tensor)) {
  return [f](const Tensors& in) { return Tensors{f(in[0], in[1])}; };
}

TEST(PrimitiveGradient, OfSmoothFunctionsOfAnyNumber) {
  for (Tensor (*f)(Tensor) : {&neg, &exp, &expm1, &sin, &cos, &tanh, &erf, &erfc})
    expect_gradients(unary(f), {noise({7}, 1, -2, 2)});
  expect_gradients(unary(abs), {distinct({8}, 1)});
}

TEST(PrimitiveGradient, OfFunctionsOfPositiveNumbers) {
  for (Tensor (*f)(Tensor) : {&log, &log1p, &sqrt}) expect_gradients(unary(f), {noise({7}, 1, 0.5, 3)});
}

TEST(PrimitiveGradient, OfArithmeticBetweenEqualShapesAndScalars) {
  const Feed x = noise({2, 3}, 1, 0.5, 2), y = noise({2, 3}, 2, 0.5, 2), s = noise({}, 3, 0.5, 2);
  for (Tensor (*f)(Tensor, Tensor) : {&add, &sub, &mul, &div, &pow, &atan2}) {
    expect_gradients(binary(f), {x, y});
    expect_gradients(binary(f), {x, s});
    expect_gradients(binary(f), {s, y});
    expect_gradients(binary(f), {s, noise({}, 4, 0.5, 2)});
  }
  for (Tensor (*f)(Tensor, Tensor) : {&maximum, &minimum}) {
    expect_gradients(binary(f), {distinct({2, 3}, 1), distinct({2, 3}, 2, 0.17)});
    expect_gradients(binary(f), {distinct({2, 3}, 1), f64({}, {0.11})});
  }
}

TEST(PrimitiveGradient, OfATieIsHalfEach) {
  const Build f = [](const Tensors& in) { return gradients(reduce_sum(maximum(in[0], in[1])), in); };
  const auto r = evaluate(f, {f64({3}, {1, 2, 3}), f64({3}, {1, 3, 2})});
  expect_near(r[0].values, {0.5, 0, 1});
  expect_near(r[1].values, {0.5, 1, 0});
}

TEST(PrimitiveGradient, OfPowAtTheEdges) {
  const Build f = [](const Tensors& in) { return gradients(reduce_sum(pow(in[0], in[1])), in); };
  const auto r = evaluate(f, {f64({4}, {0, -2, 3, 0}), f64({4}, {2, 3, 0, 0})});
  expect_near(r[0].values, {0, 12, 0, 0});
  expect_near(r[1].values, {0, 0, std::log(3.0), 0});
}

TEST(PrimitiveGradient, OfSelectAndOfCastsBetweenFloats) {
  const Build choose = [](const Tensors& in) { return Tensors{select(in[0], in[1], in[2])}; };
  const Feed c = of(DType::kBool, {2, 2}, {1, 0, 0, 1});
  expect_gradients(choose, {c, noise({2, 2}, 1), noise({2, 2}, 2)});
  expect_gradients(choose, {c, noise({}, 1), noise({2, 2}, 2)});
  expect_gradients(choose, {of(DType::kBool, {}, {1}), noise({2, 2}, 1), noise({}, 2)}, {2});
  expect_gradients([](const Tensors& in) { return Tensors{square(cast(in[0], DType::kF32))}; }, {noise({3}, 1)});
}

TEST(PrimitiveGradient, DoesNotFlowThroughIntegersComparisonsAndRounding) {
  const Build f = [](const Tensors& in) {
    const Tensor x = in[0];
    const Tensor steps = floor(x) + round(x) + cast(cast(x, DType::kI32), DType::kF64) +
                         cast(compare(x, scalar_like(x, 0), CompareKind::kGt), DType::kF64);
    return gradients(reduce_sum(x + steps), {x});
  };
  expect_near(value(f, {f64({2}, {0.3, -0.7})}), {1, 1});
}

TEST(PrimitiveGradient, OfMovements) {
  const Feed x = noise({2, 3, 4}, 1);
  expect_gradients([](const Tensors& in) { return Tensors{square(reshape(in[0], {6, 4}))}; }, {x});
  expect_gradients([](const Tensors& in) { return Tensors{transpose(in[0], {2, 0, 1})}; }, {x});
  expect_gradients([](const Tensors& in) { return Tensors{broadcast(in[0], {2, 5, 3, 4, 2}, {0, 2, 3})}; }, {x});
  expect_gradients([](const Tensors& in) { return Tensors{broadcast(in[0], {3, 2, 4}, {0, 2})}; }, {noise({1, 4}, 1)});
  expect_gradients([](const Tensors& in) { return Tensors{broadcast(in[0], {1, 4}, {0, 1})}; }, {noise({1, 1}, 1)});
  expect_gradients([](const Tensors& in) { return Tensors{broadcast(in[0], {2, 2}, {})}; }, {noise({}, 1)});
  expect_gradients([](const Tensors& in) { return Tensors{slice(in[0], {0, 1, 0}, {2, 3, 4}, {})}; }, {x});
  expect_gradients([](const Tensors& in) { return Tensors{slice(in[0], {1, 0, 0}, {2, 3, 4}, {1, 2, 3})}; }, {x});
  expect_gradients([](const Tensors& in) { return Tensors{slice(in[0], {0, 0, 1}, {1, 2, 3}, {1, 1, 2})}; }, {x});
  expect_gradients([](const Tensors& in) { return Tensors{pad(in[0], {1, 0, 2}, {0, 1, 0}, {0, 2, 1}, 3)}; }, {x});
  expect_gradients([](const Tensors& in) { return Tensors{reverse(in[0], {0, 2})}; }, {x});
  expect_gradients(
      [](const Tensors& in) {
        return Tensors{concat({in[0], in[1], in[0]}, 1)};
      },
      {x, noise({2, 1, 4}, 2)});
}

TEST(PrimitiveGradient, OfGatherDropsIndicesOutside) {
  const Feed i = of(DType::kI32, {4}, {2, 0, 2, 9}), batched = of(DType::kI64, {2, 2}, {1, 1, -1, 0});
  expect_gradients([](const Tensors& in) { return Tensors{gather(in[0], in[1], 1)}; }, {noise({2, 3, 2}, 1), i});
  expect_gradients([](const Tensors& in) { return Tensors{gather(in[0], in[1], 1, 1)}; },
                   {noise({2, 3, 2}, 1), batched});
  expect_gradients([](const Tensors& in) { return Tensors{gather(in[0], in[1], 0)}; },
                   {noise({3}, 1), of(DType::kI32, {}, {1})});
}

TEST(PrimitiveGradient, OfScatterThatAddsOrSets) {
  const Feed i = of(DType::kI32, {3}, {2, 0, 7});
  for (ScatterKind kind : {ScatterKind::kAdd, ScatterKind::kSet})
    expect_gradients([=](const Tensors& in) { return Tensors{scatter(in[0], in[1], in[2], 0, 0, kind)}; },
                     {noise({4, 2}, 1), i, noise({3, 2}, 2)});
  expect_gradients([](const Tensors& in) { return Tensors{scatter(in[0], in[1], in[2], 0, 0, ScatterKind::kAdd)}; },
                   {noise({4, 2}, 1), of(DType::kI32, {3}, {1, 1, 1}), noise({3, 2}, 2)});
  expect_gradients([](const Tensors& in) { return Tensors{scatter(in[0], in[1], in[2], 1, 1, ScatterKind::kSet)}; },
                   {noise({2, 3}, 1), of(DType::kI64, {2, 2}, {2, 0, 1, 2}), noise({2, 2}, 2)});
}

TEST(PrimitiveGradient, OfSortedValues) {
  for (bool descending : {false, true})
    expect_gradients([=](const Tensors& in) { return Tensors{sort(in[0], 3, descending).values}; },
                     {distinct({2, 5}, 1)});
}

TEST(PrimitiveGradient, OfReductions) {
  const Feed x = distinct({2, 3, 2}, 1);
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin})
    for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}, Ints{0, 1, 2}, Ints{-2}})
      expect_gradients([=](const Tensors& in) { return Tensors{reduce(in[0], axes, kind)}; }, {x});
}

TEST(PrimitiveGradient, OfAProductWithZerosIsThatOfTheOthers) {
  const Build f = [](const Tensors& in) {
    return gradients(reduce_sum(reduce(in[0], {1}, ReduceKind::kProd)), {in[0]});
  };
  expect_near(value(f, {f64({3, 3}, {2, 0, 3, 0, 0, 5, 1, 2, 3})}), {0, 6, 0, 0, 0, 0, 6, 3, 2});
}

TEST(PrimitiveGradient, OfAReducedMaximumIsSharedByTies) {
  const Build f = [](const Tensors& in) { return gradients(reduce_sum(reduce_max(in[0], {1})), {in[0]}); };
  expect_near(value(f, {f64({2, 3}, {1, 4, 4, 2, 2, 2})}), {0, 0.5, 0.5, 1. / 3, 1. / 3, 1. / 3});
}

TEST(PrimitiveGradient, OfDotInEveryTransposition) {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (const Ints& lead : {Ints{}, Ints{2}}) {
        Ints a = lead, b = lead;
        a.insert(a.end(), ta ? std::initializer_list<int64_t>{3, 4} : std::initializer_list<int64_t>{4, 3});
        b.insert(b.end(), tb ? std::initializer_list<int64_t>{2, 3} : std::initializer_list<int64_t>{3, 2});
        expect_gradients(
            [=](const Tensors& in) {
              return Tensors{dot(in[0], in[1], {ta, tb})};
            },
            {noise(Shape(a), 1), noise(Shape(b), 2)});
      }
}

ConvOptions conv_of(Ints strides, Ints low, Ints high, Ints dilation, int64_t groups) {
  ConvOptions o;
  o.strides = std::move(strides), o.low = std::move(low), o.high = std::move(high), o.dilation = std::move(dilation);
  o.groups = groups;
  return o;
}

struct ConvCase {
  Shape x, w;
  ConvOptions o;
};

std::vector<ConvCase> conv_cases() {
  return {{{1, 4, 4, 2}, {3, 3, 2, 3}, {}},
          {{2, 5, 4, 2}, {3, 2, 1, 4}, conv_of({2, 1}, {1, 0}, {1, 2}, {1, 2}, 2)},
          {{2, 6, 3}, {2, 3, 2}, conv_of({3}, {0}, {0}, {1}, 1)},  // unused end
          {{1, 3, 2, 3, 2}, {2, 1, 2, 2, 2}, conv_of({1, 1, 2}, {1, 0, 0}, {0, 0, 1}, {1, 1, 1}, 1)},
          {{1, 4, 4, 3}, {2, 2, 1, 3}, conv_of({1, 1}, {1, 1}, {0, 0}, {1, 1}, 3)}};  // depthwise
}

TEST(PrimitiveGradient, OfConvAndOfItsOwnGradients) {
  for (const ConvCase& c : conv_cases()) {
    const Ints size(c.x.begin() + 1, c.x.end() - 1), kernel(c.w.begin(), c.w.end() - 2);
    const Build forward = [&](const Tensors& in) { return Tensors{conv(in[0], in[1], c.o)}; };
    const Shape y = evaluate(forward, {noise(c.x, 1), noise(c.w, 2)})[0].type.shape;
    expect_gradients(forward, {noise(c.x, 1), noise(c.w, 2)});
    expect_gradients([&](const Tensors& in) { return Tensors{conv_grad_input(in[0], in[1], size, c.o)}; },
                     {noise(y, 1), noise(c.w, 2)});
    expect_gradients([&](const Tensors& in) { return Tensors{conv_grad_filter(in[0], in[1], kernel, c.o)}; },
                     {noise(c.x, 1), noise(y, 2)});
  }
}

TEST(PrimitiveGradient, OfMixedPrecisionHasTheOperandsDtype) {
  Graph graph;
  const Tensor a(&graph, graph.add_input({DType::kBF16, {2, 3}}, Role::kFeed, "a"));
  const Tensor b(&graph, graph.add_input({DType::kBF16, {3, 4}}, Role::kFeed, "b"));
  const Tensor y = dot(a, b, {false, false, MathPrecision::kDefault, DType::kF32});
  for (const Tensor& g : gradients(reduce_sum(y), {a, b})) EXPECT_EQ(g.dtype(), DType::kBF16);
}

}  // namespace
}  // namespace tenon::op_testing
