// Large shapes of every family: the same bits on 1, 2 and 3 threads.
#include "integration/device_testing.h"

namespace tenon::device_testing {
namespace {

using One = std::function<Tensors(const Tensors&)>;

void expect_same_bits(const std::vector<Feed>& feeds, const One& build) {
  const Built built = build_graph(build, feeds);
  const auto run = [&](int threads) {
    std::vector<std::vector<uint8_t>> bytes;
    const auto results = run_on(cpu_of_threads(threads), built);
    EXPECT_TRUE(results.ok()) << results.status().message();
    if (results.ok())
      for (const reference::Tensor& t : *results) bytes.push_back(reference::to_bytes(t));
    return bytes;
  };
  const auto one = run(1);
  EXPECT_TRUE(run(2) == one) << "2 threads";
  EXPECT_TRUE(run(3) == one) << "3 threads";
}

Feed f32(const Shape& shape, int seed) { return random_feed(DType::kF32, shape, seed); }
Feed i64(double v) { return op_testing::of(DType::kI64, {}, {v}); }

TEST(Threads, DoNotChangeElementwiseAndMovement) {
  const Shape s{67, 1031};
  expect_same_bits({f32(s, 1), f32(s, 2)}, [](const Tensors& x) {
    return Tensors{mul(exp(x[0]), x[1]), tanh(x[1]), pow(abs(x[0]), x[1])};
  });
  expect_same_bits({f32(s, 1)}, [](const Tensors& x) {
    return Tensors{transpose(x[0], {1, 0}), reverse(x[0], {1}), pad(x[0], {1, 2}, {3, 0}, {1, 0}, 0),
                   cast(x[0], DType::kBF16)};
  });
  expect_same_bits({f32({301, 65}, 1), random_feed(DType::kI32, {2000}, 2, -5, 320), f32({2000, 65}, 3)},
                   [](const Tensors& x) {
                     return Tensors{gather(x[0], x[1], 0), scatter(x[0], x[1], x[2], 0, 0, ScatterKind::kAdd),
                                    scatter(x[0], x[1], x[2], 0, 0, ScatterKind::kSet)};
                   });
  expect_same_bits({i64(1), i64(2), f32({333, 257}, 3)}, [](const Tensors& x) {
    return Tensors{random(x[0], x[1], 5, {333, 257}), dropout(x[2], x[0], x[1], {}, 0.3, 9)};
  });
}

TEST(Threads, DoNotChangeReductionsAndSorts) {
  expect_same_bits({f32({67, 2053}, 1)}, [](const Tensors& x) {
    return Tensors{reduce(x[0], {0}, ReduceKind::kSum),
                   reduce(x[0], {1}, ReduceKind::kSum),
                   reduce(x[0], {0, 1}, ReduceKind::kSum),
                   global_norm({x[0]}),
                   cumsum(x[0], 0),
                   cumsum(x[0], 1),
                   sort(x[0], 100, true).values,
                   argmax(x[0], 0)};
  });
}

TEST(Threads, DoNotChangeProductsAndConvolutions) {
  expect_same_bits({f32({133, 517}, 1), f32({517, 259}, 2), f32({259}, 3)}, [](const Tensors& x) {
    return Tensors{dot(x[0], x[1]), dot_bias_act(x[0], x[1], x[2], {}, Activation::kGelu)};
  });
  expect_same_bits({f32({7, 517}, 1), f32({517, 1025}, 2)}, [](const Tensors& x) { return Tensors{dot(x[0], x[1])}; });
  for (int64_t groups : {int64_t{1}, int64_t{16}}) {
    const ConvOptions o{.low = {1, 1}, .high = {1, 1}, .groups = groups};
    expect_same_bits({f32({5, 27, 29, 16}, 1), f32({3, 3, 16 / groups, 32}, 2), f32({5, 27, 29, 32}, 3), f32({32}, 4)},
                     [=](const Tensors& x) {
                       const BiasActGrad g = bias_act_grad(x[2], x[2], Activation::kRelu);
                       return Tensors{conv_bias_act(x[0], x[1], x[3], {}, Activation::kRelu, 0, o),
                                      conv_grad_input(x[2], x[1], {27, 29}, o), conv_grad_filter(x[0], x[2], {3, 3}, o),
                                      g.dz, g.dbias};
                     });
  }
}

TEST(Threads, DoNotChangePoolsAndNormalisations) {
  const PoolOptions o{.window = {3, 3}, .strides = {2, 2}, .low = {1, 1}, .high = {1, 1}};
  const NormOptions norm{.act = Activation::kRelu};
  expect_same_bits({f32({9, 28, 28, 33}, 1), f32({33}, 2), f32({9, 28, 28, 33}, 3)}, [=](const Tensors& x) {
    const Tensor y = max_pool(x[0], o);
    const Normalized b = batch_norm(x[0], x[1], x[1], {}, norm), l = layer_norm(x[0], x[1], x[1], {3}, 1e-3);
    const BatchNormGrad bg = batch_norm_grad(x[2], x[0], x[1], b.mean, b.var, b.y, false, norm);
    const LayerNormGrad lg = layer_norm_grad(x[2], x[0], x[1], l.mean, l.var, {3}, 1e-3, true, true);
    return Tensors{y,
                   avg_pool(x[0], o),
                   max_pool_grad(x[0], y, y, o),
                   avg_pool_grad(y, {28, 28}, o),
                   b.y,
                   b.mean,
                   b.var,
                   bg.dx,
                   bg.dgamma,
                   bg.dbeta,
                   l.y,
                   lg.dx,
                   lg.dgamma,
                   lg.dbeta};
  });
}

TEST(Threads, DoNotChangeSoftmaxAttentionAndCells) {
  expect_same_bits({f32({129, 1000}, 1), random_feed(DType::kI32, {129}, 2, 0, 1000)}, [](const Tensors& x) {
    const CrossEntropy c = softmax_cross_entropy_per_example(x[0], x[1]);
    return Tensors{softmax(x[0]), softmax(x[0], 0), c.loss, softmax_cross_entropy_grad(c.loss, x[0], x[1], c.lse, {})};
  });
  const AttentionOptions o{.scale = 0.2, .causal = true, .rate = 0.1, .stream = 3};
  expect_same_bits({f32({3, 65, 4, 24}, 1), f32({3, 67, 2, 24}, 2), f32({3, 67, 2, 24}, 3), i64(4), i64(5)},
                   [=](const Tensors& x) {
                     const Attended a = attention(x[0], x[1], x[2], {}, x[3], x[4], o);
                     const AttentionGrad g = attention_grad(a.y, x[0], x[1], x[2], {}, x[3], x[4], a.y, a.lse, o);
                     return Tensors{a.y, a.lse, g.dq, g.dk, g.dv};
                   });
  expect_same_bits({f32({33, 9, 40}, 1), f32({33, 48}, 2), f32({40, 192}, 3), f32({48, 192}, 4), f32({192}, 5)},
                   [](const Tensors& x) {
                     const Recurrent r = lstm(x[0], x[1], x[1], x[2], x[3], x[4]);
                     return Tensors{r.y, r.c, r.gates};
                   });
}

TEST(Threads, DoNotChangeUpdates) {
  const Shape s{257, 333};
  expect_same_bits(
      {f32(s, 1), f32(s, 2), op_testing::f32({}, {0.01}), i64(3), f32(s, 5), random_feed(DType::kF32, s, 6, 0.1, 1)},
      [](const Tensors& x) {
        const Tensors none{x[0], x[1], x[2], x[3], {}, {}, {}, x[4], x[5]};
        Tensors out = emit_all("adam_update", none, {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}});
        const Tensors lamb = emit_all("lamb_update", none, {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}});
        out.insert(out.end(), lamb.begin(), lamb.end());
        return out;
      });
}

}  // namespace
}  // namespace tenon::device_testing
