// What else layers are made of: pools, norms, softmax and its loss, dropout, embeddings, sums and moves.
#include "bench/op/bench_op_case.h"
#include "tenon/variables.h"

namespace tenon::runner {
namespace {

// N H W C WINDOW.
PoolOptions pool_options(const Sizes& s) { return {.window = {s[4], s[4]}, .strides = {s[4], s[4]}}; }
Shape channels(const Sizes& s) { return {s[3]}; }

Tensors max_pool_of(Tensor x, const Sizes& s, Operands&) { return {max_pool(x, pool_options(s))}; }

Tensors max_pool_grad_of(Tensor x, const Sizes& s, Operands& more) {
  const Tensor y = max_pool(x, pool_options(s));
  return {max_pool_grad(x, y, more("dy", y.shape()), pool_options(s))};
}

Tensors batch_norm_of(Tensor x, const Sizes& s, Operands& more) {
  const Normalized n = batch_norm(x, more("gamma", channels(s)), more("beta", channels(s)), Tensor(), {});
  return {n.y, n.mean, n.var};
}

Tensors batch_norm_grad_of(Tensor x, const Sizes& s, Operands& more) {
  const BatchNormGrad g =
      batch_norm_grad(more("dy", image(s)), x, more("gamma", channels(s)), more("mean", channels(s)),
                      more.positive("var", channels(s)), Tensor(), false, {});
  return {g.dx, g.dgamma, g.dbeta};
}

Tensors layer_norm_of(Tensor x, const Sizes& s, Operands& more) {
  const Normalized n = layer_norm(x, more("gamma", {s[1]}), more("beta", {s[1]}), {1}, 1e-3);
  return {n.y, n.mean, n.var};
}

Tensors layer_norm_grad_of(Tensor x, const Sizes& s, Operands& more) {
  const LayerNormGrad g = layer_norm_grad(more("dy", matrix(s)), x, more("gamma", {s[1]}), more("mean", {s[0]}),
                                          more.positive("var", {s[0]}), {1}, 1e-3, true, true);
  return {g.dx, g.dgamma, g.dbeta};
}

Tensors softmax_of(Tensor x, const Sizes&, Operands&) { return {softmax(x)}; }

Tensors softmax_grad_of(Tensor y, const Sizes& s, Operands& more) {
  return {softmax_grad(more("dy", matrix(s)), y, 1)};
}

Tensors cross_entropy_of(Tensor x, const Sizes& s, Operands& more) {
  const CrossEntropy c = softmax_cross_entropy_per_example(x, more.indices("label", {s[0]}, s[1]));
  return {c.loss, c.lse};
}

Tensors cross_entropy_grad_of(Tensor x, const Sizes& s, Operands& more) {
  const Tensor label = more.indices("label", {s[0]}, s[1]), lse = more.positive("lse", {s[0]});
  return {softmax_cross_entropy_grad(more("dloss", {s[0]}), x, label, lse, {})};
}

Tensors bias_act_grad_of(Tensor g, const Sizes& s, Operands& more) {
  const BiasActGrad b = bias_act_grad(g, more("t", matrix(s)), Activation::kRelu);
  return {b.dz, b.dbias};
}

// ROWS C RATE.
Tensors dropout_of(Tensor x, const Sizes& s, Operands&) {
  Graph& graph = *x.graph();
  return {dropout(x, seed_input(graph), global_step(graph), Tensor(), static_cast<double>(s[2]) / 100, 1)};
}

// ROWS VOCAB C: an embedding, and its gradient.
Shape table(const Sizes& s) { return {s[1], s[2]}; }
Shape taken(const Sizes& s) { return {s[0], s[2]}; }

Tensors gather_of(Tensor x, const Sizes& s, Operands& more) { return {gather(x, more.indices("i", {s[0]}, s[1]), 0)}; }

Tensors scatter_of(Tensor u, const Sizes& s, Operands& more) {
  const Tensor zeros = full(*u.graph(), DType::kF32, table(s), 0);
  return {scatter(zeros, more.indices("i", {s[0]}, s[1]), u, 0, 0, ScatterKind::kAdd)};
}

Tensors reduce_of(Tensor x, const Sizes&, Operands&) { return {reduce_sum(x, {0})}; }
Tensors add_of(Tensor x, const Sizes& s, Operands& more) { return {add(x, more("b", matrix(s)))}; }
Tensors exp_of(Tensor x, const Sizes&, Operands&) { return {exp(x)}; }
Tensors transpose_of(Tensor x, const Sizes&, Operands&) { return {transpose(x, {1, 0})}; }

const char* const kPools = "32x180x180x16,32x90x90x32,64x26x26x32";
const char* const kNorms = "128x32x32x16,16x56x56x64,16x14x14x1024";
const char* const kRows = "2048x128,2048x512,2048x4096";
const char* const kMatrices = "64x1024,2048x512,2048x8000,64x1000000";
const char* const kTables = "2048x8000x512,2048x32000x512,65536x1000x64,65536x1000000x32";

const OpCase kLayers[] = {
    {"max_pool", "NxHxWxC[xWINDOW]", {2}, image, max_pool_of, kPools},
    {"max_pool_grad", "NxHxWxC[xWINDOW]", {2}, image, max_pool_grad_of, kPools},
    {"batch_norm", "NxHxWxC", {}, image, batch_norm_of, kNorms},
    {"batch_norm_grad", "NxHxWxC", {}, image, batch_norm_grad_of, kNorms},
    {"layer_norm", "ROWSxC", {}, matrix, layer_norm_of, kRows},
    {"layer_norm_grad", "ROWSxC", {}, matrix, layer_norm_grad_of, kRows},
    {"softmax", "ROWSxC", {}, matrix, softmax_of, kMatrices},
    {"softmax_grad", "ROWSxC", {}, matrix, softmax_grad_of, kMatrices},
    {"softmax_cross_entropy", "ROWSxCLASSES", {}, matrix, cross_entropy_of, kMatrices},
    {"softmax_cross_entropy_grad", "ROWSxCLASSES", {}, matrix, cross_entropy_grad_of, kMatrices},
    {"bias_act_grad", "ROWSxC", {}, matrix, bias_act_grad_of, kMatrices},
    {"dropout", "ROWSxC[xRATE]", {10}, matrix, dropout_of, kMatrices, wrong_rate},
    {"gather", "ROWSxVOCABxC", {}, table, gather_of, kTables},
    {"scatter", "ROWSxVOCABxC", {}, taken, scatter_of, kTables},
    {"reduce", "ROWSxC", {}, matrix, reduce_of, kMatrices},
    {"add", "ROWSxC", {}, matrix, add_of, kMatrices},
    {"exp", "ROWSxC", {}, matrix, exp_of, kMatrices},
    {"transpose", "ROWSxC", {}, matrix, transpose_of, kMatrices},
};

}  // namespace

std::span<const OpCase> layer_cases() { return kLayers; }

}  // namespace tenon::runner
