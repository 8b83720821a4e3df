// SimpleRNN, LSTM, GRU.
#include "tenon/recurrent.h"

#include "base/crc32c.h"
#include "layer/object/layer_scope.h"
#include "layer/object/masks.h"
#include "op/bounded.h"

namespace tenon {
namespace {

// What a layer starts with: x in the order of its steps, and a state of each kind.
struct Start {
  Tensor x;  // [B,T,C]
  Tensors states;
  Tensor mask = {};   // [B,T], where steps do not all count
  Tensors kept = {};  // variables that the last states become
};
// What its steps give: the outputs of all, where they are asked for, the last one, and the last states.
struct Ran {
  Tensor sequence, last;
  Tensors states;
};

Tensor first_of(const Tensors& xs, const char* layer) {
  if (xs.empty()) fail(layer, ": has no inputs");
  return xs[0];
}

AxisBounds steps_of(Tensor x) { return x.graph()->bounds(x.id())[1]; }

Tensor with_steps(Tensor x, const AxisBounds& steps) {
  Bounds bounds = x.graph()->bounds(x.id());
  bounds[1] = steps;
  return with_bounds(x, std::move(bounds));
}

// All steps of a bound, 0 behind the end of x[B,T,..].
Tensor bound_of(Tensor x) { return with_steps(masked(x, {1}, 0), static_axis(x.dim(1))); }

// Bools [B,T] that end where x does, true unless the mask says otherwise.
Tensor counted_of(Tensor x, Tensor mask) {
  Graph& graph = *x.graph();
  const Bounds bounds = graph.bounds(x.id());
  const Tensor all = full(graph, DType::kBool, {x.dim(0), x.dim(1)}, 1);
  graph.set_bounds(all.id(), {bounds[0], bounds[1]});
  return mask ? minimum(all, mask) : all;
}

Tensors kept_states(const LayerScope& scope, Tensor x, size_t count, int64_t units) {
  const int replicas = x.graph()->replicas;
  scope.expect(replicas == 1, "is stateful, on ", replicas,
               " units that each have other rows of a batch; expected one");
  Tensors kept;
  for (size_t i = 0; i < count; ++i)
    kept.push_back(
        variable(x, i == 0 ? std::string(kRnnState) : cat(kRnnState, "_", i), {x.dim(0), units}, zeros(), false));
  return kept;
}

template <class Options>
Start started(const LayerScope& scope, const Tensors& xs, size_t states, const Options& o) {
  scope.expect_size("units", o.units);
  for (const double rate : {o.dropout, o.recurrent_dropout})
    scope.expect(rate >= 0 && rate < 1, "dropout is ", rate, ", expected 0 to less than 1");
  const Tensor x = xs[0];
  scope.expect_float(x, 3, 3);
  scope.expect(xs.size() == 1 || xs.size() == states + 1, "given ", xs.size() - 1, " states, expected ", states);
  const Type state{x.dtype(), {x.dim(0), o.units}};
  for (size_t i = 1; i < xs.size(); ++i)
    scope.expect(xs[i] && xs[i].type() == state, "state ", i - 1, " is ", xs[i] ? xs[i].type().str() : "nothing",
                 ", expected ", state.str());
  Tensor mask = mask_of(x);
  if (mask && mask.rank() == 3) mask = reduce_max(mask, {-1});
  scope.expect(!mask || mask.rank() == 2, "the mask is ", mask ? mask.type().str() : "", ", expected a bool a step");
  if (mask && is_dynamic(steps_of(x))) mask = counted_of(x, mask);
  const auto in_order = [&](Tensor t) { return t && o.go_backwards ? reverse(t, {1}) : t; };
  Start s{in_order(x), Tensors(xs.begin() + 1, xs.end()), in_order(mask)};
  if (o.stateful) s.kept = kept_states(scope, x, states, o.units);
  while (s.kept.size() > s.states.size()) s.states.push_back(cast(current(s.kept[s.states.size()]), x.dtype()));
  while (s.states.size() < states) s.states.push_back(full(*x.graph(), state.dtype, state.shape, 0));
  return s;
}

// In x's dtype, under the cell's name as Keras has them.
struct CellWeights {
  Tensor kernel, recurrent, bias;  // bias: absent unless used
};

template <class Options>
CellWeights weights_of(Tensor x, const char* cell, int64_t gates, const Shape& bias, const InitializerRule& bias_rule,
                       const Options& o) {
  const Scope scope(x, cell);
  const int64_t columns = gates * o.units;
  CellWeights w;
  w.kernel = weight(x, "kernel", {x.dim(2), columns}, o.kernel_initializer, o.trainable, o.kernel_regularizer,
                    o.kernel_constraint);
  w.recurrent = weight(x, "recurrent_kernel", {o.units, columns}, o.recurrent_initializer, o.trainable,
                       o.recurrent_regularizer, o.recurrent_constraint);
  if (o.use_bias) w.bias = weight(x, "bias", bias, bias_rule, o.trainable, o.bias_regularizer, o.bias_constraint);
  return w;
}

// `count` masks [B,n] of 0 and 1 / (1 - rate); none unless training.
Tensors drop_masks(const LayerScope& scope, const char* what, Tensor like, int64_t n, double rate, size_t count) {
  Tensors masks;
  if (mode_of(like) != Mode::kTrain || rate == 0) return masks;
  Graph& graph = *like.graph();
  const Tensor ones = full(graph, like.dtype(), {like.dim(0), n}, 1);
  for (size_t i = 0; i < count; ++i)
    masks.push_back(
        dropout(ones, seed_input(graph), draw_step(graph), {}, rate, crc32c(cat(scope.call(), "/", what, "/", i))));
  return masks;
}

Tensor columns_of(Tensor kernel, int64_t from, int64_t to) { return slice(kernel, {0, from}, {kernel.dim(0), to}, {}); }
Tensor gate(Tensor z, int64_t i, int64_t units) { return columns_of(z, i * units, (i + 1) * units); }

// x K; with masks each of as many equal parts of the columns has its own mask of x.
Tensor masked_product(Tensor x, Tensor kernel, const Tensors& masks) {
  if (masks.empty()) return dot(x, kernel);
  const int64_t columns = kernel.dim(1) / static_cast<int64_t>(masks.size());
  Tensors parts;
  for (const Tensor& mask : masks) {
    const int64_t from = static_cast<int64_t>(parts.size()) * columns;
    parts.push_back(dot(x * mask, columns_of(kernel, from, from + columns)));
  }
  return parts.size() == 1 ? parts[0] : concat(parts, 1);
}

// x[B,T,C] K + b -> [B,T,n], masks[B,C].
Tensor all_inputs(Tensor x, const CellWeights& w, Tensor bias, const Tensors& masks) {
  const int64_t steps = x.dim(0) * x.dim(1);
  Tensors each;
  for (const Tensor& m : masks) each.push_back(reshape(broadcast(m, x.shape(), {0, 2}), {steps, x.dim(2)}));
  const Tensor z = masked_product(reshape(x, {steps, x.dim(2)}), w.kernel, each);
  return reshape(bias ? z + bias : z, {x.dim(0), x.dim(1), z.dim(1)});
}

Tensor input_of(Tensor inputs, int64_t t) {
  const int64_t batch = inputs.dim(0), n = inputs.dim(2);
  return reshape(slice(inputs, {0, t, 0}, {batch, t + 1, n}, {}), {batch, n});
}

// Where step t counts: [B,n].
Tensor counts_at(Tensor mask, int64_t t, Tensor like) {
  return broadcast(slice(mask, {0, t}, {mask.dim(0), t + 1}, {}), like.shape(), {0, 1});
}

// The last step that is there.
Tensor last_of(Tensor sequence) {
  if (!sequence.graph()->is_dynamic(sequence.id())) return input_of(sequence, sequence.dim(1) - 1);
  const Tensor last = reshape(dimension_size(sequence, 1) - 1.0, {1});
  return reshape(gather(sequence, last, 1), {sequence.dim(0), sequence.dim(2)});
}

// `step` makes of a step's input and the states the next states, the output first. A step that does not count leaves them,
// and so does one behind the end of a dynamic number of steps: the last states are those of the last step that is there.
template <class Options, class Step>
Ran unrolled(Tensor each, const Start& s, const Options& o, Step step) {
  const AxisBounds steps = steps_of(each);
  const bool dynamic = is_dynamic(steps), last_in_sequence = dynamic && o.zero_output_for_mask;
  const Tensor inputs = dynamic ? bound_of(each) : each;
  const Tensor mask = dynamic ? bound_of(s.mask ? s.mask : counted_of(each, {})) : s.mask;
  Ran ran{{}, {}, s.states};
  Tensors ys;
  for (int64_t t = 0; t < inputs.dim(1); ++t) {
    Tensors next = step(input_of(inputs, t), ran.states);
    const Tensor counts = mask ? counts_at(mask, t, next[0]) : Tensor();
    for (size_t i = 0; counts && i < next.size(); ++i) next[i] = select(counts, next[i], ran.states[i]);
    ran.states = next;
    ran.last = counts && o.zero_output_for_mask ? select(counts, next[0], scalar_like(next[0], 0)) : next[0];
    if (o.return_sequences || last_in_sequence) ys.push_back(reshape(ran.last, {inputs.dim(0), 1, ran.last.dim(1)}));
  }
  if (!ys.empty()) ran.sequence = with_steps(concat(ys, 1), steps);
  if (last_in_sequence) ran.last = last_of(ran.sequence);
  return ran;
}

Ran of_op(Tensor sequence, const Tensors& other_states) {
  const Tensor last = last_of(sequence);
  Ran ran{sequence, last, {last}};
  ran.states.insert(ran.states.end(), other_states.begin(), other_states.end());
  return ran;
}

template <class Options>
Tensors results_of(const Start& s, const Ran& ran, const Options& o) {
  Tensors out{o.return_sequences ? ran.sequence : ran.last};
  if (o.return_sequences) set_mask(out[0], s.mask);
  for (size_t i = 0; i < s.kept.size(); ++i) assign(s.kept[i], cast(ran.states[i], s.kept[i].dtype()));
  if (o.return_state) out.insert(out.end(), ran.states.begin(), ran.states.end());
  for (const Tensor& y : out) penalized(y, o);
  return out;
}

// Whether the backend's op is what is asked for.
template <class Options>
bool is_plain(const Start& s, const Options& o, const Tensors& masks) {
  return masks.empty() && !s.mask && o.activation.fused() == Activation::kTanh &&
         o.recurrent_activation.fused() == Activation::kSigmoid;
}

// x dropped by one mask for all gates, or as Keras has it by one a gate where states are dropped too.
template <class Options>
Tensors input_masks(const LayerScope& scope, Tensor x, size_t gates, const Options& o) {
  return drop_masks(scope, "dropout", x, x.dim(2), o.dropout, o.recurrent_dropout > 0 ? gates : 1);
}

// x with the mask that all gates share, which the ops do not know.
Tensor masked_input(Tensor x, const Tensors& masks) {
  return masks.empty() ? x : x * broadcast(masks[0], x.shape(), {0, 2});
}

Tensor bias_or_zeros(Tensor bias, Tensor kernel) {
  return bias ? bias : full(*kernel.graph(), kernel.dtype(), {kernel.dim(1)}, 0);
}

// `rule`, but 1 for the forget gate.
Initializer unit_forget_bias(const LayerScope& scope, const InitializerRule& rule, int64_t units) {
  Initializer init = rule({4 * units});
  const auto n = static_cast<size_t>(units);
  if (init.kind == Initializer::Kind::kConstant)
    init = values_initializer(std::vector<float>(4 * n, static_cast<float>(init.a)));
  scope.expect(init.kind == Initializer::Kind::kValues && init.values.size() == 4 * n,
               "bias_initializer draws numbers, expected constants beside unit_forget_bias");
  std::fill(init.values.begin() + units, init.values.begin() + 2 * units, 1.0f);
  return init;
}

Ran run_lstm(const LayerScope& scope, const Start& s, const CellWeights& w, const LSTMOptions& o) {
  const Tensors inputs = input_masks(scope, s.x, 4, o);
  const Tensors masks = drop_masks(scope, "recurrent_dropout", s.x, o.units, o.recurrent_dropout, 4);
  const bool last_cell = o.return_state || o.stateful;  // the op has none after a dynamic number of steps
  if (is_plain(s, o, masks) && !(last_cell && is_dynamic(steps_of(s.x)))) {
    const Recurrent r = lstm(masked_input(s.x, inputs), s.states[0], s.states[1], w.kernel, w.recurrent,
                             bias_or_zeros(w.bias, w.kernel));
    return of_op(r.y, {r.c});
  }
  const auto gated = [&](Tensor z, int64_t i) { return activate(gate(z, i, o.units), o.recurrent_activation); };
  return unrolled(all_inputs(s.x, w, w.bias, inputs), s, o, [&](Tensor in, const Tensors& at) {
    const Tensor z = in + masked_product(at[0], w.recurrent, masks);
    const Tensor c = gated(z, 1) * at[1] + gated(z, 0) * activate(gate(z, 2, o.units), o.activation);
    return Tensors{gated(z, 3) * activate(c, o.activation), c};
  });
}

// Row i of the bias [2, 3 units], or nothing.
Tensor gru_bias(Tensor bias, int64_t i) {
  return bias ? reshape(slice(bias, {i, 0}, {i + 1, bias.dim(1)}, {}), {bias.dim(1)}) : Tensor();
}

// activation of the candidate's input and of what the state adds, which the reset gate r takes part in.
Tensor mixed(Tensor in, Tensor z, Tensor h, Tensor from_state, const GRUOptions& o) {
  const Tensor candidate = activate(gate(in, 2, o.units) + from_state, o.activation);
  return z * h + (1 - z) * candidate;
}

Ran run_gru_after(const LayerScope& scope, const Start& s, const CellWeights& w, const GRUOptions& o) {
  const Tensors inputs = input_masks(scope, s.x, 3, o);
  const Tensors masks = drop_masks(scope, "recurrent_dropout", s.x, o.units, o.recurrent_dropout, 3);
  const Tensor b = gru_bias(w.bias, 0), rb = gru_bias(w.bias, 1);
  if (is_plain(s, o, masks))
    return of_op(gru(masked_input(s.x, inputs), s.states[0], w.kernel, w.recurrent, bias_or_zeros(b, w.kernel),
                     bias_or_zeros(rb, w.kernel))
                     .y,
                 {});
  return unrolled(all_inputs(s.x, w, b, inputs), s, o, [&](Tensor in, const Tensors& at) {
    const Tensor dots = masked_product(at[0], w.recurrent, masks), rec = rb ? dots + rb : dots;
    const auto gated = [&](int64_t i) {
      return activate(gate(in, i, o.units) + gate(rec, i, o.units), o.recurrent_activation);
    };
    return Tensors{mixed(in, gated(0), at[0], gated(1) * gate(rec, 2, o.units), o)};
  });
}

Ran run_gru_before(const LayerScope& scope, const Start& s, const CellWeights& w, const GRUOptions& o) {
  const Tensors inputs = input_masks(scope, s.x, 3, o);
  const Tensors masks = drop_masks(scope, "recurrent_dropout", s.x, o.units, o.recurrent_dropout, 3);
  const Tensors of_gates(masks.begin(), masks.begin() + (masks.empty() ? 0 : 2));
  const Tensor for_gates = columns_of(w.recurrent, 0, 2 * o.units), for_candidate = gate(w.recurrent, 2, o.units);
  return unrolled(all_inputs(s.x, w, w.bias, inputs), s, o, [&](Tensor in, const Tensors& at) {
    const Tensor rec = masked_product(at[0], for_gates, of_gates);
    const auto gated = [&](int64_t i) {
      return activate(gate(in, i, o.units) + gate(rec, i, o.units), o.recurrent_activation);
    };
    const Tensor reset = gated(1) * (masks.empty() ? at[0] : at[0] * masks[2]);
    return Tensors{mixed(in, gated(0), at[0], dot(reset, for_candidate), o)};
  });
}

}  // namespace

Tensors simple_rnn(const Tensors& xs, const SimpleRNNOptions& o) {
  const LayerScope scope(first_of(xs, "simple_rnn"), "simple_rnn", o.name);
  const Start s = started(scope, xs, 1, o);
  const CellWeights w = weights_of(s.x, "simple_rnn_cell", 1, {o.units}, o.bias_initializer, o);
  const Tensors masks = drop_masks(scope, "recurrent_dropout", s.x, o.units, o.recurrent_dropout, 1);
  const Tensor inputs = all_inputs(s.x, w, w.bias, input_masks(scope, s.x, 1, o));
  const Ran ran = unrolled(inputs, s, o, [&](Tensor in, const Tensors& at) {
    return Tensors{activate(in + masked_product(at[0], w.recurrent, masks), o.activation)};
  });
  return results_of(s, ran, o);
}

Tensors lstm(const Tensors& xs, const LSTMOptions& o) {
  const LayerScope scope(first_of(xs, "lstm"), "lstm", o.name);
  const Start s = started(scope, xs, 2, o);
  const InitializerRule bias =
      o.use_bias && o.unit_forget_bias ? unit_forget_bias(scope, o.bias_initializer, o.units) : o.bias_initializer;
  const CellWeights w = weights_of(s.x, "lstm_cell", 4, {4 * o.units}, bias, o);
  return results_of(s, run_lstm(scope, s, w, o), o);
}

Tensors gru(const Tensors& xs, const GRUOptions& o) {
  const LayerScope scope(first_of(xs, "gru"), "gru", o.name);
  const Start s = started(scope, xs, 1, o);
  const Shape bias = o.reset_after ? Shape{2, 3 * o.units} : Shape{3 * o.units};
  const CellWeights w = weights_of(s.x, "gru_cell", 3, bias, o.bias_initializer, o);
  return results_of(s, o.reset_after ? run_gru_after(scope, s, w, o) : run_gru_before(scope, s, w, o), o);
}

Tensor simple_rnn(Tensor x, const SimpleRNNOptions& o) { return simple_rnn(Tensors{x}, o)[0]; }
Tensor lstm(Tensor x, const LSTMOptions& o) { return lstm(Tensors{x}, o)[0]; }
Tensor gru(Tensor x, const GRUOptions& o) { return gru(Tensors{x}, o)[0]; }

}  // namespace tenon
