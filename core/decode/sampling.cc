// One sequence a sentence: the most probable token, or one that is drawn.
#include <limits>

#include "decode/decode_trace.h"

namespace tenon {
namespace {

constexpr double kHidden = -1e9;

Tensor kept_where(Tensor condition, Tensor logits) { return select(condition, logits, full_like(logits, kHidden)); }

// Those at least as probable as the k-th most probable.
Tensor top_k_logits(Tensor logits, int64_t k) {
  const Tensor least = reduce_min(top_k(logits, k).values, {1}, true);
  return kept_where(compare(logits, broadcast_to(least, logits.shape()), CompareKind::kGe), logits);
}

// The fewest most probable ones that together have the probability p.
Tensor top_p_logits(Tensor logits, double p) {
  const Sorted sorted = top_k(logits, logits.dim(1));
  const Tensor before = cumsum(softmax(sorted.values), 1, true);
  const Tensor counted = compare(before, full_like(before, p), CompareKind::kLt);
  const Tensor highest = full_like(sorted.values, std::numeric_limits<float>::max());
  const Tensor least = reduce_min(select(counted, sorted.values, highest), {1}, true);
  return kept_where(compare(logits, broadcast_to(least, logits.shape()), CompareKind::kGe), logits);
}

constexpr int64_t kStream = 0x64726177;  // of the draws, of which a step has one

// argmax of logits + Gumbel noise is a draw from their softmax. All units draw the same: they write the same sequences.
Tensor drawn(Tensor logits) {
  Graph& graph = *logits.graph();
  const Tensor u = random(seed_input(graph), draw_step(graph), kStream, logits.shape()) * (1 - 1e-10) + 1e-10;
  return argmax(logits - log(-log(u)));
}

Tensor chosen(Tensor logits, const DecodeOptions& o) {
  if (o.temperature <= 0) return argmax(logits);
  Tensor x = logits / o.temperature;
  if (o.top_k > 0 && o.top_k < o.vocabulary) x = top_k_logits(x, o.top_k);
  if (o.top_p < 1) x = top_p_logits(x, o.top_p);
  return drawn(x);
}

}  // namespace

void begin_sampling(Tensor like, DecodeVariables& variables, int64_t batch, const DecodeOptions& o) {
  Graph& graph = *like.graph();
  variables.put("position", full(graph, DType::kI32, {}, 0));
  variables.put("token", full(graph, DType::kI32, {batch}, static_cast<double>(o.start)));
  variables.put("ids", full(graph, DType::kI32, {batch, o.max_length}, 0));
  variables.put("log_probs", full(graph, DType::kF32, {batch}, 0));
  variables.put("finished", full(graph, DType::kBool, {batch}, 0));
}

Sequences sampling_step(Tensor max_steps, DecodeVariables& v, const Decoder::Next& next, const DecodeOptions& o) {
  const Tensor position = v.get(max_steps, "position"), finished = v.get(max_steps, "finished");
  DecodeState state = DecodeTrace::read(max_steps, v);
  const Tensor logits = cast(next(v.get(max_steps, "token"), position, state), DType::kF32);
  DecodeTrace::write(state, v, {});
  const int64_t batch = logits.dim(0);
  const Tensor choice = cast(chosen(logits, o), DType::kI32);
  const Tensor token = select(finished, zeros_like(choice), choice);

  const Tensor log_prob = reshape(gather(log_softmax(logits), reshape(choice, {batch, 1}), 1, 1), {batch});
  const Tensor log_probs = v.get(max_steps, "log_probs") + select(finished, zeros_like(log_prob), log_prob);
  const Tensor before = v.get(max_steps, "ids");
  const Tensor place = iota(*before.graph(), DType::kI32, before.shape(), 1);
  const Tensor ids = select(compare(place, broadcast_to(position, before.shape()), CompareKind::kEq),
                            broadcast_to(reshape(token, {batch, 1}), before.shape()), before);
  const Tensor ended =
      maximum(finished, compare(token, full_like(token, static_cast<double>(o.eos)), CompareKind::kEq));
  const Tensor now = position + scalar_like(position, 1);
  v.put("token", token);
  v.put("ids", ids);
  v.put("log_probs", log_probs);
  v.put("finished", ended);
  v.put("position", now);
  const Tensor done = maximum(compare(now, max_steps, CompareKind::kGe), reduce_min(ended));
  return {reshape(ids, {batch, 1, o.max_length}), reshape(log_probs, {batch, 1}), done};
}

}  // namespace tenon
