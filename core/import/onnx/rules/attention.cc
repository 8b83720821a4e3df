// Attention, and what goes with it.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace attention_ops {
namespace {

// [B,T,N D] as [B,N,T,D].
Tensor in_heads(Tensor x, int64_t heads) {
  if (heads < 1 || x.dim(2) % heads != 0) fail("the heads of ", x.type().str(), " are ", heads);
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}
Tensor from_heads(Tensor x) { return reshape(transpose(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)}); }

// 0 where it is seen, -inf where not.
Tensor additive(Tensor seen, DType dtype) {
  Graph& graph = *seen.graph();
  return select(seen, full(graph, dtype, {}, 0), full(graph, dtype, {}, -INFINITY));
}

Tensor plus(Tensor a, Tensor b) { return a ? a + b : b; }

struct Operands {
  Tensor q, k, v;  // [B,N,T,D], [B,M,S,D], [B,M,S,E]
  bool flat = false;
  int64_t past = 0;
};

Operands operands_of(Call& c) {
  Operands out;
  out.q = c.in(0), out.k = c.in(1), out.v = c.in(2);
  out.flat = out.q.rank() == 3;
  if (out.flat) {
    out.q = in_heads(out.q, c.integer("q_num_heads", 0));
    out.k = in_heads(out.k, c.integer("kv_num_heads", 0));
    out.v = in_heads(out.v, c.integer("kv_num_heads", 0));
  }
  if (c.has(4)) {
    out.past = c.value(4).shape()[2];
    out.k = out.past == 0 ? out.k : concat({c.in(4), out.k}, 2);
    out.v = out.past == 0 ? out.v : concat({c.in(5), out.v}, 2);
  }
  return out;
}

// Where query i stands among the keys: i + offset, one offset for all or one a row of the batch.
Tensor position(Call& c, const Operands& x, const Shape& shape) {
  Tensor at = iota(c.graph(), DType::kI64, shape, shape.rank() - 2);
  if (c.has(6) && !c.has(4)) {
    const Tensor length = cast(c.in(6), DType::kI64) - static_cast<double>(x.q.dim(2));
    return add(at, broadcast(reshape(length, {x.q.dim(0)}), shape, {0}));
  }
  return at + static_cast<double>(x.past);
}

// What all masks together add to the scores, or none. `causal`: that mask among them.
Tensor bias_of(Call& c, const Operands& x, bool causal) {
  const int64_t steps = x.q.dim(2), keys = x.k.dim(2);
  const DType dtype = x.q.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Tensor bias;
  if (c.has(3)) {
    Tensor mask = c.in(3);
    mask = mask.dtype() == DType::kBool ? additive(mask, dtype) : cast(mask, dtype);
    const int64_t short_of = keys - mask.dim(-1);
    if (short_of > 0 && mask.dim(-1) >= 1) {
      Ints low(static_cast<size_t>(mask.rank()), 0), high = low;
      high.back() = short_of;
      mask = pad(mask, low, high, {}, -INFINITY);
    }
    bias = mask;
  }
  const bool by_row = c.has(6) && !c.has(4);
  const Shape plane = by_row ? Shape({x.q.dim(0), 1, steps, keys}) : Shape({steps, keys});
  const int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
  if (causal || left >= 0 || right >= 0) {
    const Tensor at = position(c, x, plane), key = iota(c.graph(), DType::kI64, plane, plane.rank() - 1);
    Tensor seen;
    const auto also = [&](Tensor more) { seen = seen ? minimum(seen, more) : more; };
    if (causal) also(compare(key, at, CompareKind::kLe));
    if (left >= 0) also(compare(key, at - static_cast<double>(left), CompareKind::kGe));
    if (right >= 0) also(compare(key, at + static_cast<double>(right), CompareKind::kLe));
    bias = plus(bias, additive(seen, dtype));
  }
  if (c.has(6)) {
    const Shape shape({x.q.dim(0), 1, 1, keys});
    const Tensor key = iota(c.graph(), DType::kI64, shape, 3);
    bias = plus(bias, additive(compare(key, broadcast(cast(reshape(c.in(6), {x.q.dim(0)}), DType::kI64), shape, {0}),
                                       CompareKind::kLt),
                               dtype));
  }
  return bias;
}

Tensor repeated_heads(Tensor x, int64_t times) {
  if (times == 1) return x;
  const Tensor y = broadcast(x, Shape({x.dim(0), x.dim(1), times, x.dim(2), x.dim(3)}), {0, 1, 3, 4});
  return reshape(y, {x.dim(0), x.dim(1) * times, x.dim(2), x.dim(3)});
}

// Rows that see no key are 0.
Tensor guarded_softmax(Tensor scores) {
  const Tensor high = reduce_max(scores, {3}, true);
  const Tensor none = compare(high, scalar_like(high, -INFINITY), CompareKind::kEq);
  const Tensor p = softmax(scores, 3);
  return select(broadcast_to(none, p.shape()), scalar_like(p, 0), p);
}

void step_by_step(Call& c, const Operands& x, double scale, Tensor bias) {
  const DType narrow = x.q.dtype(), wide = narrow == DType::kF64 ? DType::kF64 : DType::kF32;
  const int64_t times = x.q.dim(1) / std::max<int64_t>(1, x.k.dim(1)), mode = c.integer("qk_matmul_output_mode", 0);
  const double cap = c.real("softcap", 0);
  const Tensor k = repeated_heads(x.k, times), v = repeated_heads(x.v, times);
  const MathPrecision precision = c.walk.precision();
  Tensor scores = dot(cast(x.q, wide) * scale, cast(k, wide), {.tb = true, .precision = precision});
  if (cap > 0) scores = tanh(scores / cap) * cap;
  const Tensor masked = bias ? scores + bias : scores;
  const Tensor p = guarded_softmax(masked);
  const Tensor y = cast(dot(p, cast(v, wide), {.precision = precision}), narrow);
  c.give(x.flat ? from_heads(y) : y);
  c.give(x.k);
  c.give(x.v);
  c.give(cast(mode == 2 ? masked : mode == 3 ? p : scores, narrow));
}

void attention_rule(Call& c) {
  const Operands x = operands_of(c);
  const double scale = c.real("scale", 1 / std::sqrt(static_cast<double>(x.q.dim(3))));
  const bool causal = c.flag("is_causal");
  // The op is as precise as the device likes.
  const bool simple = c.walk.precision() == MathPrecision::kDefault && !c.wants(3) && c.real("softcap", 0) == 0 &&
                      x.q.dim(1) % std::max<int64_t>(1, x.k.dim(1)) == 0 && !c.has(3) && !c.has(6) &&
                      c.integer("left_window_size", -1) < 0 && c.integer("right_window_size", -1) < 0;
  if (!simple) return step_by_step(c, x, scale, bias_of(c, x, causal));
  const bool ends = causal && x.k.dim(2) - x.q.dim(2) == x.past;
  Tensor bias = causal && !ends ? bias_of(c, x, true) : Tensor();
  if (bias) return step_by_step(c, x, scale, bias);
  const auto steps_first = [](Tensor t) { return transpose(t, {0, 2, 1, 3}); };
  const Tensor y =
      attention(steps_first(x.q), steps_first(x.k), steps_first(x.v), {}, {}, {}, {.scale = scale, .causal = ends}).y;
  c.give(x.flat ? reshape(y, {y.dim(0), y.dim(1), y.dim(2) * y.dim(3)}) : steps_first(y));
  c.give(x.k);
  c.give(x.v);
}

// Pairs of numbers turned by an angle that grows with the position.
void rotary_embedding(Call& c) {
  const Tensor given = c.in(0);
  const bool flat = given.rank() == 3;
  // [B,T,N,D]
  const int64_t heads = c.integer("num_heads", 0);
  if (flat && (heads < 1 || given.dim(2) % heads != 0)) fail("the heads of ", given.type().str(), " are ", heads);
  const Tensor x =
      flat ? reshape(given, {given.dim(0), given.dim(1), heads, given.dim(2) / heads}) : transpose(given, {0, 2, 1, 3});
  int64_t turned = c.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = x.dim(3);
  if (turned < 2 || turned > x.dim(3)) fail("rotary_embedding_dim is ", turned, " of ", x.dim(3));
  const int64_t half = turned / 2;
  const auto angles = [&](size_t i) {
    Tensor cache = c.in(i);
    if (c.has(3)) cache = gather(cache, c.in(3), 0);
    return reshape(cache, {cache.dim(0), cache.dim(1), 1, half});
  };
  const Tensor cosine = angles(1), sine = angles(2);
  const bool pairs = c.flag("interleaved");
  const Tensor a = pairs ? part(x, 3, 0, turned - 1, 2) : part(x, 3, 0, half),
               b = pairs ? part(x, 3, 1, turned, 2) : part(x, 3, half, turned);
  const Tensor real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  Tensor y = pairs ? reshape(concat({expand_dims(real, 4), expand_dims(imaginary, 4)}, 4),
                             {x.dim(0), x.dim(1), x.dim(2), turned})
                   : concat({real, imaginary}, 3);
  if (turned < x.dim(3)) y = concat({y, part(x, 3, turned, x.dim(3))}, 3);
  c.give(flat ? reshape(y, given.shape()) : transpose(y, {0, 2, 1, 3}));
}

// A state [B,M,K,E] that each step decays, corrects and adds to.
void linear_attention(Call& c) {
  const int64_t heads = c.integer("q_num_heads", 0), states = c.integer("kv_num_heads", 0);
  const DType narrow = c.in(0).dtype();
  const auto wide = [&](size_t i) { return cast(c.in(i), DType::kF32); };
  if (states < 1 || heads % states != 0) fail(heads, " heads of queries and ", states, " of keys");
  const Tensor q = in_heads(wide(0), heads), k = in_heads(wide(1), states), v = in_heads(wide(2), states);
  const std::string rule = c.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  const int64_t batch = q.dim(0), steps = q.dim(2), size = k.dim(3), width = v.dim(3);
  if (steps > 4096) fail(steps, " steps, expected up to 4096");
  double scale = c.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  Tensor state = c.has(3) ? wide(3) : full(c.graph(), DType::kF32, Shape({batch, states, size, width}), 0);
  const Tensor decay = gated ? in_heads(wide(4), states) : Tensor(),
               beta = delta ? in_heads(wide(5), wide(5).dim(2)) : Tensor();
  const auto at = [&](Tensor x, int64_t t) { return part(x, 2, t, t + 1); };  // [B,M,1,..]
  const auto column = [](Tensor x) { return transpose(x, {0, 1, 3, 2}); };
  Tensors ys;
  for (int64_t t = 0; t < steps; ++t) {
    const Tensor key = at(k, t);
    Tensor value = at(v, t);
    if (gated) state = state * column(exp(at(decay, t)));
    if (delta) value = at(beta, t) * (value - dot(key, state, {.precision = c.walk.precision()}));
    state = add(state, column(key) * value);
    ys.push_back(dot(at(q, t) * scale, repeated_heads(state, heads / states), {.precision = c.walk.precision()}));
  }
  c.give(cast(from_heads(concat(ys, 2)), narrow));
  c.give(cast(state, c.has(3) ? c.in(3).dtype() : narrow), c.has(3) ? c.element(3) : c.element());
}

// Each channel's last steps, kept from call to call.
void causal_conv(Call& c) {
  const Tensor x = c.in(0), w = c.in(1);
  const int64_t size = w.dim(2), channels = x.dim(1);
  const auto before = [&] {
    return c.has(3) ? c.in(3) : full(c.graph(), x.dtype(), Shape({x.dim(0), channels, size - 1}), 0);
  };
  const Tensor whole = size == 1 ? x : concat({before(), x}, 2);
  Tensor y =
      conv(transpose(whole, {0, 2, 1}), transpose(w, {2, 1, 0}), {.groups = channels, .precision = c.walk.precision()});
  if (c.has(2)) y = y + c.in(2);
  if (c.text("activation", "none") != "none") y = activation(y, Activation::kSilu);
  c.give(transpose(y, {0, 2, 1}));
  if (size == 1) return c.give_empty(c.element(), Shape({x.dim(0), channels, 0}));
  c.give(part(whole, 2, whole.dim(2) - size + 1, whole.dim(2)));
}

constexpr Rule kRules[] = {
    {"Attention", attention_rule},
    {"CausalConvWithState", causal_conv},
    {"LinearAttention", linear_attention},
    {"RotaryEmbedding", rotary_embedding},
};

}  // namespace
}  // namespace attention_ops

Rules attention_rules() { return attention_ops::kRules; }

}  // namespace tenon::onnx
