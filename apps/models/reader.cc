// Extractive question answering: the Transformer's encoder reads question, EOS, context, EOS, and says of each token how likely the
// answer begins and ends there. Features "inputs", tokens, 0 behind the end; labels i32[batch, 2], the first and the last token of the
// answer, or 0 twice where the context has none.
#include <cmath>

#include "models/models.h"
#include "models/transformer_layers.h"
#include "tenon/subtokenizer.h"

namespace tenon::models {
namespace {

constexpr double kNever = -1e9;  // the logit of a token that is no part of the context

// rows[.., i]
Tensor column(Tensor rows, int64_t i) {
  Ints begin(static_cast<size_t>(rows.rank()), 0), end = rows.shape().vec();
  const Ints steps(begin.size(), 1);
  begin.back() = i, end.back() = i + 1;
  const Tensor one = slice(rows, begin, end, steps);
  end.pop_back();
  return reshape(one, Shape(end));
}

// f32[batch, length]: 0 in the question, 1 in the context, with their ends, 2 behind it.
Tensor segments_of(Tensor inputs) {
  const Tensor is_eos = compare(inputs, full_like(inputs, Subtokenizer::kEos), CompareKind::kEq);
  return cumsum(cast(is_eos, DType::kF32), 1, true);
}

// A vector for the question's tokens and one for all others: [batch, length, d].
Tensor segment_embeddings(Tensor segments, int64_t d) {
  const int64_t batch = segments.dim(0), length = segments.dim(1);
  const Tensor others = reshape(minimum(segments, full_like(segments, 1)), {batch * length, 1});
  const Tensor one_hot = concat({1 - others, others}, 1);
  const Tensor table =
      variable(segments, "segment_embeddings", {2, d}, random_normal(0, 1 / std::sqrt(static_cast<double>(d))));
  return reshape(dot(cast(one_hot, table.dtype()), table), {batch, length, d});
}

// The first token stands for "no answer".
Tensor may_answer(Tensor inputs, Tensor segments) {
  const Tensor in_context = compare(segments, full_like(segments, 1), CompareKind::kEq);
  const Tensor is_no_eos = compare(inputs, full_like(inputs, Subtokenizer::kEos), CompareKind::kNe);
  const Tensor place = iota(*inputs.graph(), DType::kI32, inputs.shape(), 1);
  return maximum(minimum(in_context, is_no_eos), compare(place, zeros_like(place), CompareKind::kEq));
}

}  // namespace

EstimatorSpec reader(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const TransformerSizes sizes = transformer_sizes(params);
  const Tensor inputs = features["inputs"], segments = segments_of(inputs);
  const Tensor read = TransformerLayers(inputs, sizes).encode(inputs, segment_embeddings(segments, sizes.hidden));
  const Tensor both = cast(dense(read, {.units = 2, .name = "span"}), DType::kF32), may = may_answer(inputs, segments);
  const auto logits = [&](int64_t i) {
    const Tensor all = column(both, i);
    return select(may, all, full_like(all, kNever));
  };
  const Tensor start = logits(0), end = logits(1);
  EstimatorSpec spec{.mode = mode, .predictions = {{"start", start}, {"end", end}}};
  if (mode == Mode::kPredict) return spec;

  const Tensor first = column(labels, 0), last = column(labels, 1);
  spec.loss = 0.5 * (sparse_categorical_crossentropy(first, start, {.from_logits = true}) +
                     sparse_categorical_crossentropy(last, end, {.from_logits = true}));
  const auto is_right = [](Tensor label, Tensor scores) {
    const Tensor found = argmax(scores);
    return cast(compare(found, cast(label, found.dtype()), CompareKind::kEq), DType::kF32);
  };
  const Tensor start_right = is_right(first, start), end_right = is_right(last, end);
  spec.eval_metrics = {{"accuracy_start", mean(start_right)},
                       {"accuracy_end", mean(end_right)},
                       {"accuracy", mean(start_right * end_right)}};
  if (mode == Mode::kTrain) spec.train_op = minimize(transformer_optimizer(params, sizes.hidden), spec.loss);
  return spec;
}

}  // namespace tenon::models
