// RNN, GRU and LSTM, in both directions: by the ops that Tenon has where nothing unusual is asked for, else step by step.
#include <algorithm>
#include <cctype>
#include <functional>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace recurrent_ops {
namespace {

constexpr int64_t kMostSteps = 4096;  // that a graph is unrolled for

using Act = std::function<Tensor(Tensor)>;

Act act_of(const std::string& name, double alpha, double beta) {
  const auto is = [&](const char* other) {
    return std::equal(name.begin(), name.end(), other, other + std::string_view(other).size(),
                      [](char a, char b) { return std::tolower(a) == std::tolower(b); });
  };
  if (is("Relu")) return [](Tensor x) { return activation(x, Activation::kRelu); };
  if (is("Tanh")) return [](Tensor x) { return tanh(x); };
  if (is("Sigmoid")) return [](Tensor x) { return activation(x, Activation::kSigmoid); };
  if (is("Affine")) return [=](Tensor x) { return x * alpha + beta; };
  if (is("LeakyRelu")) return [=](Tensor x) { return activation(x, Activation::kLeakyRelu, alpha); };
  if (is("Elu")) return [=](Tensor x) { return activation(x, Activation::kElu, alpha); };
  if (is("ScaledTanh")) return [=](Tensor x) { return tanh(x * beta) * alpha; };
  if (is("HardSigmoid")) return [=](Tensor x) { return clamp(x * alpha + beta, 0, 1); };
  if (is("Softsign")) return [](Tensor x) { return x / (abs(x) + 1.0); };
  if (is("Softplus")) return [](Tensor x) { return activation(x, Activation::kSoftplus); };
  if (is("ThresholdedRelu"))
    return [=](Tensor x) { return select(compare(x, scalar_like(x, alpha), CompareKind::kGt), x, scalar_like(x, 0)); };
  fail("activation '", name, "'");
}

struct Cell {
  int64_t gates = 1;
  std::vector<std::string> defaults;
};

// One direction. x is [B,T,I] in the order in which its steps are taken.
struct Direction {
  Tensor x, w, r, b, rb, p;  // w [G H, I], r [G H, H], b and rb [G H], p [3 H] or none
  Tensor h, c;               // [B,H]
  Tensor lengths;            // i64 [B], or none
  std::vector<Act> acts;
  bool usual = false;  // the activations are the default ones
  int64_t units = 0;
  double clip = 0;
};
struct Steps {
  Tensor y, h, c;  // y [B,T,H]
};

Tensor times(Call& c, Tensor a, Tensor b) { return dot(a, b, {.tb = true, .precision = c.walk.precision()}); }

Tensor gate(Tensor x, int64_t which, int64_t units) {
  return part(x, x.rank() - 1, which * units, (which + 1) * units);
}

// What the gates get from the input at all steps: [B,T,G H].
Tensor from_input(Call& c, const Direction& d) {
  const int64_t rows = d.x.dim(0) * d.x.dim(1);
  Tensor y = times(c, reshape(d.x, {rows, d.x.dim(2)}), d.w);
  if (d.b) y = y + d.b;
  return reshape(y, {d.x.dim(0), d.x.dim(1), y.dim(1)});
}

using Step = std::function<void(Tensor x, Tensor& h, Tensor& c)>;

Steps unrolled(Call& c, const Direction& d, const Step& step) {
  const Tensor xw = from_input(c, d);
  const int64_t steps = d.x.dim(1), batch = d.x.dim(0);
  if (steps > kMostSteps) fail(steps, " steps, expected up to ", kMostSteps, " where they are done one by one");
  Tensor h = d.h, state = d.c;
  Tensors ys;
  for (int64_t t = 0; t < steps; ++t) {
    Tensor next = h, next_state = state;
    step(reshape(part(xw, 1, t, t + 1), {batch, xw.dim(2)}), next, next_state);
    Tensor y = next;
    if (d.lengths) {
      const Tensor runs =
          broadcast(compare(d.lengths, full(c.graph(), DType::kI64, {}, static_cast<double>(t)), CompareKind::kGt),
                    h.shape(), {0});
      y = select(runs, next, scalar_like(next, 0));
      next = select(runs, next, h);
      if (state) next_state = select(runs, next_state, state);
    }
    h = next, state = next_state;
    ys.push_back(reshape(y, {batch, 1, d.units}));
  }
  return {concat(ys, 1), h, state};
}

Tensor clipped(const Direction& d, Tensor x) { return d.clip > 0 ? clamp(x, -d.clip, d.clip) : x; }

Steps rnn(Call& c, const Direction& d) {
  return unrolled(c, d, [&](Tensor x, Tensor& h, Tensor&) {
    Tensor z = add(x, times(c, h, d.r));
    if (d.rb) z = z + d.rb;
    h = d.acts[0](clipped(d, z));
  });
}

Steps gru_steps(Call& c, const Direction& d) {
  const bool after = c.flag("linear_before_reset");
  if (after && d.usual && !d.lengths && d.clip == 0) {
    const Tensor zero = full(c.graph(), d.x.dtype(), Shape({3 * d.units}), 0);
    const Recurrent y =
        gru(d.x, d.h, transpose(d.w, {1, 0}), transpose(d.r, {1, 0}), d.b ? d.b : zero, d.rb ? d.rb : zero);
    return {y.y, reshape(part(y.y, 1, d.x.dim(1) - 1, d.x.dim(1)), d.h.shape()), {}};
  }
  const int64_t n = d.units;
  const auto rows = [&](int64_t g) { return part(d.r, 0, g * n, (g + 1) * n); };
  const auto with_bias = [&](Tensor t, int64_t g) { return d.rb ? t + part(d.rb, 0, g * n, (g + 1) * n) : t; };
  return unrolled(c, d, [&](Tensor x, Tensor& h, Tensor&) {
    const Tensor z = d.acts[0](clipped(d, add(gate(x, 0, n), with_bias(times(c, h, rows(0)), 0))));
    const Tensor r = d.acts[0](clipped(d, add(gate(x, 1, n), with_bias(times(c, h, rows(1)), 1))));
    const Tensor inner =
        after ? mul(r, with_bias(times(c, h, rows(2)), 2)) : with_bias(times(c, mul(r, h), rows(2)), 2);
    const Tensor fresh = d.acts[1](clipped(d, add(gate(x, 2, n), inner)));
    h = add(mul(1.0 - z, fresh), mul(z, h));
  });
}

// ONNX's gates are i o f c, the op's i f c o.
Tensor reordered(Tensor w, int64_t units) {
  const auto rows = [&](int64_t g) { return part(w, 0, g * units, (g + 1) * units); };
  return concat({rows(0), rows(2), rows(3), rows(1)}, 0);
}

Steps lstm_steps(Call& c, const Direction& d) {
  const int64_t n = d.units;
  if (d.usual && !d.lengths && d.clip == 0 && !d.p && !c.flag("input_forget")) {
    Tensor bias = d.b ? add(d.b, d.rb) : full(c.graph(), d.x.dtype(), Shape({4 * n}), 0);
    const Recurrent y = lstm(d.x, d.h, d.c, transpose(reordered(d.w, n), {1, 0}), transpose(reordered(d.r, n), {1, 0}),
                             reordered(bias, n));
    return {y.y, reshape(part(y.y, 1, d.x.dim(1) - 1, d.x.dim(1)), d.h.shape()), y.c};
  }
  const auto peep = [&](Tensor z, Tensor cell, int64_t which) {
    return d.p ? z + cell * part(d.p, 0, which * n, (which + 1) * n) : z;
  };
  return unrolled(c, d, [&](Tensor x, Tensor& h, Tensor& cell) {
    Tensor z = add(x, times(c, h, d.r));
    if (d.rb) z = z + d.rb;
    const Tensor i = d.acts[0](clipped(d, peep(gate(z, 0, n), cell, 0)));
    const Tensor f = c.flag("input_forget") ? 1.0 - i : d.acts[0](clipped(d, peep(gate(z, 2, n), cell, 2)));
    const Tensor fresh = d.acts[1](clipped(d, gate(z, 3, n)));
    cell = add(mul(f, cell), mul(i, fresh));
    const Tensor o = d.acts[0](clipped(d, peep(gate(z, 1, n), cell, 1)));
    h = mul(o, d.acts[2](cell));
  });
}

// x with the steps of each row in reverse: of those that have a length their first ones.
Tensor backwards(Call& c, Tensor x, Tensor lengths) {
  if (!lengths) return reverse(x, {1});
  const Shape shape({x.dim(0), x.dim(1)});
  const Tensor count = broadcast(lengths, shape, {0}), at = iota(c.graph(), DType::kI64, shape, 1);
  return gather(x, select(compare(at, count, CompareKind::kLt), sub(count, at) - 1.0, at), 1, 1);
}

struct Setting {
  Cell cell;
  int64_t units = 0, directions = 1, batch = 0;
  bool rows_first = false;
  std::string direction;
  Tensor x;  // [B,T,I]
};

// Entry `which` of the directions' axis, without it.
Tensor of_direction(Tensor x, int64_t which, int64_t axis) {
  if (x.rank() <= axis) fail("an operand ", x.type().str(), " without an axis of directions");
  std::vector<int64_t> dims = x.shape().vec();
  dims.erase(dims.begin() + axis);
  return reshape(part(x, axis, which, which + 1), Shape(dims));
}

void set_acts(Call& c, const Setting& s, int64_t which, Direction& d) {
  const std::vector<std::string> names = c.texts("activations");
  const std::vector<double> alphas = c.reals("activation_alpha"), betas = c.reals("activation_beta");
  const size_t each = s.cell.defaults.size();
  d.usual = c.walk.precision() == MathPrecision::kDefault;  // the ops are as precise as the device likes
  for (size_t i = 0; i < each; ++i) {
    const size_t at = static_cast<size_t>(which) * each + i;
    const std::string name = at < names.size() ? names[at] : s.cell.defaults[i];
    d.usual &= name == s.cell.defaults[i];
    const double slope = name == "LeakyRelu" ? 0.01 : name == "HardSigmoid" ? 0.2 : 1;
    d.acts.push_back(act_of(name, at < alphas.size() ? alphas[at] : slope,
                            at < betas.size()       ? betas[at]
                            : name == "HardSigmoid" ? 0.5
                                                    : 0));
  }
}

Direction direction_of(Call& c, const Setting& s, int64_t which) {
  Direction d;
  d.units = s.units;
  d.x = s.x;
  d.clip = c.real("clip", 0);
  d.w = of_direction(c.in(1), which, 0);
  d.r = of_direction(c.in(2), which, 0);
  if (c.has(3)) {
    const Tensor b = of_direction(c.in(3), which, 0);
    d.b = part(b, 0, 0, s.cell.gates * s.units);
    d.rb = part(b, 0, s.cell.gates * s.units, 2 * s.cell.gates * s.units);
  }
  if (c.has(4)) {
    const Array* known = c.walk.find_known(c.in(4));
    bool whole = known != nullptr;
    for (size_t i = 0; whole && i < static_cast<size_t>(known->elements()); ++i)
      whole = known->to<int64_t>()[i] == s.x.dim(1);
    if (!whole) d.lengths = cast(c.in(4), DType::kI64);
  }
  const auto state = [&](size_t i) {
    if (!c.has(i)) return full(c.graph(), s.x.dtype(), Shape({s.batch, s.units}), 0);
    return of_direction(c.in(i), which, s.rows_first ? 1 : 0);
  };
  d.h = state(5);
  if (s.cell.gates == 4) d.c = state(6);
  if (s.cell.gates == 4 && c.has(7)) d.p = of_direction(c.in(7), which, 0);
  set_acts(c, s, which, d);
  return d;
}

Setting setting_of(Call& c, const Cell& cell) {
  Setting s;
  s.cell = cell;
  s.rows_first = c.integer("layout", 0) == 1;
  s.x = s.rows_first ? c.in(0) : transpose(c.in(0), {1, 0, 2});
  s.batch = s.x.dim(0);
  s.direction = c.text("direction", "forward");
  s.directions = s.direction == "bidirectional" ? 2 : 1;
  s.units = c.in(2).dim(2);
  if (c.in(1).dim(0) != s.directions || c.in(2).dim(1) != cell.gates * s.units)
    fail("weights ", c.in(1).type().str(), " and ", c.in(2).type().str(), " of ", s.directions, " directions");
  return s;
}

void give_all(Call& c, const Setting& s, const std::vector<Steps>& all) {
  const int64_t steps = s.x.dim(1);
  Tensors ys, hs, cs;
  for (const Steps& one : all) {
    ys.push_back(reshape(one.y, {s.batch, steps, 1, s.units}));
    hs.push_back(reshape(one.h, {s.batch, 1, s.units}));
    if (one.c) cs.push_back(reshape(one.c, {s.batch, 1, s.units}));
  }
  const auto joined = [](const Tensors& xs, int64_t axis) { return xs.size() == 1 ? xs[0] : concat(xs, axis); };
  const Tensor y = joined(ys, 2), h = joined(hs, 1);
  c.give(s.rows_first ? y : transpose(y, {1, 2, 0, 3}));
  c.give(s.rows_first ? h : transpose(h, {1, 0, 2}));
  if (!cs.empty()) c.give(s.rows_first ? joined(cs, 1) : transpose(joined(cs, 1), {1, 0, 2}));
}

void recurrent(Call& c, const Cell& cell, Steps (*run)(Call&, const Direction&)) {
  const Setting s = setting_of(c, cell);
  std::vector<Steps> all;
  for (int64_t which = 0; which < s.directions; ++which) {
    Direction d = direction_of(c, s, which);
    const bool back = s.direction == "reverse" || which == 1;
    if (back) d.x = backwards(c, d.x, d.lengths);
    Steps steps = run(c, d);
    if (back) steps.y = backwards(c, steps.y, d.lengths);
    all.push_back(steps);
  }
  give_all(c, s, all);
}

void rnn_rule(Call& c) { recurrent(c, {1, {"Tanh"}}, rnn); }
void gru_rule(Call& c) { recurrent(c, {3, {"Sigmoid", "Tanh"}}, gru_steps); }
void lstm_rule(Call& c) { recurrent(c, {4, {"Sigmoid", "Tanh", "Tanh"}}, lstm_steps); }

constexpr Rule kRules[] = {{"GRU", gru_rule}, {"LSTM", lstm_rule}, {"RNN", rnn_rule}};

}  // namespace
}  // namespace recurrent_ops

Rules recurrent_rules() { return recurrent_ops::kRules; }

}  // namespace tenon::onnx
