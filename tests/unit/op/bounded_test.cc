// Dynamic dimensions: what is behind their end never matters. Each function is held against itself on inputs of their size.
#include <cmath>

#include "tenon/gradients.h"
#include "unit/op/bounded_testing.h"

namespace tenon::op_testing {
namespace {

const Feed kX = noise({3, 4}, 1), kWeights = noise({4, 5}, 2), kBias = noise({5}, 3);
const std::vector<Ends> kRows{{0, 0, 0}};

TEST(Bounded, ElementsStayAndFoldsSeeWhatIsThere) {
  const auto folds = [](const Tensors& in) {
    const Tensor x = in[0], y = log(x * x + 1) / x;
    Tensors out{y};
    for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin}) {
      out.push_back(reduce(y, {0}, kind));
      out.push_back(reduce(y, {1}, kind));
      out.push_back(reduce(y, {0, 1}, kind));
    }
    out.push_back(reduce_mean(y));
    out.push_back(reduce_mean(y, {0}));
    out.push_back(reduce_mean(y, {1}));
    out.push_back(argmax(y, 0));
    out.push_back(argmax(y, 0, ReduceKind::kMin));
    out.push_back(cumsum(y, 0));
    out.push_back(cumsum(y, 0, true, true));
    out.push_back(global_norm({y}));
    out.push_back(logsumexp(y, {0}));
    out.push_back(logsumexp(y, {0, 1}, true));
    out.push_back(reduce_sum(ones_like(y)));
    out.push_back(cast(dimension_size(y, 0), DType::kF64));
    return out;
  };
  expect_equal_when_bounded(folds, {kX}, kRows, {8});
  expect_equal_when_bounded(folds, {kX}, {{0, 0, 0}, {0, 1, 1}}, {8, 6});
  expect_equal_when_bounded(folds, {kX}, {{0, 0, 0}}, {3});  // full
  expect_equal_when_bounded(folds, {noise({1, 4}, 5)}, {{0, 0, 0}, {0, 1, 1}}, {7, 4});
}

TEST(Bounded, IntegersAndBoolsHaveNeutralElementsToo) {
  const auto folds = [](const Tensors& in) {
    const Tensor some = compare(in[0], scalar_like(in[0], 3), CompareKind::kLt);
    return Tensors{reduce_max(in[0]), reduce_min(in[0]), reduce_sum(in[0]), reduce_max(some), reduce_min(some)};
  };
  for (DType dtype : {DType::kI32, DType::kI64})
    expect_equal_when_bounded(folds, {of(dtype, {3}, {-5, -7, -6})}, {{0, 0, 0}}, {5});
  expect_equal_when_bounded(folds, {of(DType::kI32, {2}, {5, 6})}, {{0, 0, 0}}, {5});
}

TEST(Bounded, MovesTakeTheDimensionAlong) {
  const auto moves = [](const Tensors& in) {
    const Tensor x = in[0];  // [batch, steps, 6]
    const int64_t b = x.dim(0), t = x.dim(1);
    const Tensor heads = transpose(reshape(x, {b, t, 2, 3}), {0, 2, 1, 3});
    const Tensor flat = reshape(x, {b * t, 6});
    return Tensors{heads,
                   reduce_sum(flat, {0}),
                   reduce_sum(reshape(flat, {b, t, 6}), {1}),
                   reduce_mean(flat),
                   slice(x, {0, 0, 1}, {b, t, 5}, {1, 1, 2}),
                   slice(x, {0, 0, 0}, {b, 1, 6}, {}),
                   pad(x, {0, 0, 1}, {0, 0, 2}, {}, 7),
                   reverse(x, {2}),
                   concat({x, x * 2}, 2),
                   reduce_sum(concat({x, x * 2}, 2), {0, 1}),
                   softmax(heads, 2),
                   log_softmax(heads),
                   top_k(transpose(x, {0, 2, 1}), 1).values};
  };
  expect_equal_when_bounded(moves, {noise({2, 3, 6}, 4)}, {{0, 0, 0}, {0, 1, 1}}, {4, 5});
}

TEST(Bounded, AReversalBeginsAtTheLastElementThatIsThere) {
  const auto turned = [](const Tensors& in) {
    const Tensor x = in[0], y = reverse(x, {1}), z = reverse(x, {0, 1, 2});
    const Tensor loss = reduce_mean(cumsum(y, 1) * y) + reduce_sum(cumsum(z, 0) * z);
    return Tensors{y, z, reverse(y, {1}), slice(y, {0, 0, 0}, {x.dim(0), 1, 6}, {}), gradients(loss, {x})[0]};
  };
  expect_equal_when_bounded(turned, {noise({2, 3, 6}, 4)}, {{0, 0, 0}, {0, 1, 1}}, {4, 5});
  expect_equal_when_bounded(turned, {noise({1, 1, 6}, 5)}, {{0, 0, 0}, {0, 1, 1}}, {4, 5});
  expect_equal_when_bounded(turned, {noise({4, 5, 6}, 6)}, {{0, 0, 0}, {0, 1, 1}}, {4, 5});  // full
}

TEST(Bounded, GatherReadsAndScatterWritesWhatIsThere) {
  const auto indexed = [](const Tensors& in) {
    const Tensor rows = gather(in[0], in[1], 0);  // [batch, steps, 5]
    const Tensor last = gather(rows, reshape(dimension_size(rows, 1) - 1.0, {1}), 1);
    return Tensors{rows, last, scatter(in[0], in[1], rows * rows, 0, 0, ScatterKind::kAdd),
                   scatter(in[0], in[1], rows * rows, 0, 0, ScatterKind::kSet),
                   gradients(reduce_mean(rows * rows), {in[0]})[0]};
  };
  expect_equal_when_bounded(indexed, {kWeights, of(DType::kI32, {2, 3}, {0, 1, 3, 3, 1, 1})}, {{1, 0, 0}, {1, 1, 1}},
                            {4, 5});
}

Tensors trained(Tensor loss, const Tensors& by) {
  Tensors out = gradients(loss, by);
  out.insert(out.begin(), loss);
  return out;
}

TEST(Bounded, ADenseNetsLossAndGradientsAreThoseOfItsRows) {
  const auto net = [](const Tensors& in) {
    const Tensor h = dot_bias_act(in[0], in[1], in[2], {}, Activation::kTanh);
    const Tensor logits = dot(log(h * h), in[3]) + in[4];
    const Tensor loss = reduce_mean(softmax_cross_entropy_per_example(logits, in[5], {}).loss);
    return trained(loss, {in[0], in[1], in[2], in[3], in[4]});
  };
  const std::vector<Feed> feeds{kX, kWeights, kBias, noise({5, 3}, 6), noise({3}, 7), of(DType::kI32, {3}, {2, 0, 1})};
  expect_equal_when_bounded(net, feeds, {{0, 0, 0}, {5, 0, 0}}, {8});
}

TEST(Bounded, BatchNormTakesItsMomentsOverTheRows) {
  const auto net = [](const Tensors& in) {
    const Normalized n = batch_norm(conv(in[0], in[1], {}), in[2], in[3], {}, {.act = Activation::kRelu});
    const Tensor pooled = avg_pool(max_pool(n.y, {.window = {2, 2}, .strides = {1, 1}}), {.window = {2, 2}});
    Tensors out = trained(reduce_mean(square(pooled) * 3), {in[0], in[1], in[2], in[3]});
    out.push_back(n.mean);
    out.push_back(n.var);
    return out;
  };
  const std::vector<Feed> feeds{distinct({2, 5, 5, 2}, 8), noise({2, 2, 2, 4}, 9), noise({4}, 10, 0.5, 1.5),
                                noise({4}, 11)};
  expect_equal_when_bounded(net, feeds, {{0, 0, 0}}, {3});
}

TEST(Bounded, LayerNormKeepsOrFoldsTheDimension) {
  for (const Ints& axes : {Ints{2}, Ints{1, 2}}) {
    const auto net = [&](const Tensors& in) {
      const Normalized n = layer_norm(in[0], in[1], in[2], axes, 1e-3);
      return trained(reduce_sum(square(n.y) * n.y), {in[0], in[1], in[2]});
    };
    expect_equal_when_bounded(net, {noise({2, 3, 4}, 12), noise({4}, 13), noise({4}, 14)}, {{0, 0, 0}, {0, 1, 1}},
                              {3, 5});
  }
}

TEST(Bounded, AttentionSeesTheStepsThatAreThere) {
  for (const bool causal : {false, true}) {
    const auto net = [&](const Tensors& in) {
      const Tensor bias = in.size() > 3 ? in[3] : Tensor();
      const Attended a = attention(in[0], in[1], in[2], bias, {}, {}, {.scale = 0.5, .causal = causal});
      Tensors by{in[0], in[1], in[2]};
      if (bias) by.push_back(bias);
      Tensors out = trained(reduce_mean(square(a.y) * a.y), by);
      out.push_back(a.y);
      out.push_back(a.lse);
      return out;
    };
    std::vector<Feed> feeds{noise({2, 3, 4, 2}, 15), noise({2, 3, 2, 2}, 16), noise({2, 3, 2, 2}, 17)};
    const std::vector<Ends> ends{{0, 0, 0}, {0, 1, 1}, {1, 0, 0}, {1, 1, 1}, {2, 0, 0}, {2, 1, 1}};
    expect_equal_when_bounded(net, feeds, ends, {3, 5});
    feeds.push_back(noise({1, 4, 1, 1}, 18));
    expect_equal_when_bounded(net, feeds, ends, {3, 5});
    feeds[3] = noise({2, 1, 3, 3}, 19);
    std::vector<Ends> of_bias = ends;
    for (const Ends& e : {Ends{3, 0, 0}, Ends{3, 2, 1}, Ends{3, 3, 1}}) of_bias.push_back(e);
    expect_equal_when_bounded(net, feeds, of_bias, {3, 5});
  }
}

TEST(Bounded, RecurrentCellsEndWithTheSteps) {
  const auto net = [](const Tensors& in) {
    const Tensor x = in[0], h = full(*x.graph(), DType::kF64, {x.dim(0), 2}, 0);
    const Tensor y = lstm(x, h, h, in[1], in[2], in[3]).y, z = gru(y, h, in[4], in[5], in[6], in[6]).y;
    const Tensor last = gather(z, reshape(dimension_size(z, 1) - 1.0, {1}), 1);
    Tensors out =
        trained(reduce_mean(square(z)) + reduce_sum(last * last * last), {x, in[1], in[2], in[3], in[4], in[5], in[6]});
    out.push_back(z);
    return out;
  };
  const std::vector<Feed> feeds{noise({2, 3, 4}, 20), noise({4, 8}, 21), noise({2, 8}, 22), noise({8}, 23),
                                noise({2, 6}, 24),    noise({2, 6}, 25), noise({6}, 26)};
  expect_equal_when_bounded(net, feeds, {{0, 0, 0}, {0, 1, 1}}, {3, 5});
}

TEST(Bounded, AGradientOfAGradientIsOverTheRowsToo) {
  const auto penalty = [](const Tensors& in) {
    const Tensor y = reduce_sum(tanh(dot(in[0], in[1])));
    const Tensor dx = gradients(y, {in[0]})[0];
    const Tensor loss = reduce_mean(square(dx));
    return trained(loss, {in[1]});
  };
  expect_equal_when_bounded(penalty, {kX, kWeights}, kRows, {6});
  const auto first = [](const Tensors& in) {
    const Tensor y = reduce_sum(exp(slice(in[0], {0, 0}, {1, 4}, {})));
    return Tensors{reduce_mean(gradients(y, {in[0]})[0])};
  };
  expect_equal_when_bounded(first, {kX}, kRows, {6});
}

TEST(Bounded, AStaticTableThatIsAddedHasNoGradientBehindTheEnd) {
  const auto positions = [](const Tensors& in) {
    const Tensor table = slice(in[1], {0, 0}, {in[0].dim(1), 3}, {});
    const Tensor x = in[0] + table;
    return trained(reduce_mean(x * x * x), {in[0], in[1]});
  };
  expect_equal_when_bounded(positions, {noise({2, 3, 3}, 27), noise({6, 3}, 28)}, {{0, 0, 0}, {0, 1, 1}}, {4, 5});
}

TEST(Bounded, TypesPrintTheirBounds) {
  const Build image = [](const Tensors& in) { return Tensors{activation(in[0], Activation::kRelu)}; };
  const std::string text = bounded_graph_text(image, {{DType::kF32, {8, 274, 286, 3}}}, {{0, 0, 0}, {0, 1, 1}});
  EXPECT_NE(text.find("feed f32[<=8,<=274,286,3]"), std::string::npos) << text;
  EXPECT_NE(text.find("activation(%0) {act=relu, alpha=0} : f32[<=8,<=274,286,3]"), std::string::npos) << text;
}

TEST(Bounded, WhatHasNoEndIsRefusedByName) {
  const Type image{DType::kF32, {8, 274, 286, 3}}, filter{DType::kF32, {3, 3, 3, 16}}, rows{DType::kF32, {8, 4}};
  const Build convolve = [](const Tensors& in) { return Tensors{conv(in[0], in[1], {})}; };
  EXPECT_EQ(error_when_bounded(convolve, {image, filter}, {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}}),
            "conv 'conv': Dynamic Spatial Convolution is not supported: lhs shape is f32[<=8,<=274,<=286,3]");
  const auto error = [&](const std::function<Tensor(Tensor)>& f) {
    return error_when_bounded([&](const Tensors& in) { return Tensors{f(in[0])}; }, {rows}, {{0, 0, 0}});
  };
  EXPECT_EQ(error([](Tensor x) {
              return slice(x, {2, 0}, {6, 4}, {});
            }),
            "slice 'slice': dimension 0 of operand 0 f32[<=8,4] is dynamic ('d0'): a part of it may not be there; "
            "gather(.., dimension_size(..) - 1, ..) takes its last");
  const Build merged = [](const Tensors& in) { return Tensors{reverse(reshape(in[0], {32}), {0})}; };
  EXPECT_EQ(error_when_bounded(merged, {rows}, {{0, 0, 0}, {0, 1, 1}}),
            "reverse 'reverse': dimension 0 of operand 0 f32[<=32] is dynamic ('d0' and 'd1'): it is made of several; "
            "reshape takes them apart");
  EXPECT_EQ(
      error([](Tensor x) {
        return concat({x, x}, 0);
      }),
      "concat 'concat': dimension 0 of operand 0 f32[<=8,4] is dynamic ('d0'): what is not there would stand between "
      "the parts");
  EXPECT_EQ(error([](Tensor x) {
              return reshape(x, {2, 16});
            }),
            "reshape 'reshape': dimension 0 of operand 0 f32[<=8,4] is dynamic ('d0'): shape [2,16] tears it apart");
  const Build both = [](const Tensors& in) { return Tensors{add(in[0], in[1])}; };
  EXPECT_EQ(error_when_bounded(both, {rows, rows}, {{0, 0, 0}, {1, 0, 1}}),
            "add 'add': dimension 0 of operand 1 f32[<=8,4] is dynamic ('d1'): that of another operand is 'd0'");
}

}  // namespace
}  // namespace tenon::op_testing
