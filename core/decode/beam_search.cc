// Beam search as TensorFlow's Transformer has it.
#include <cmath>

#include "decode/decode_trace.h"

namespace tenon {
namespace {

constexpr double kNever = -1e7;  // a score that nothing has

// i32 x / n, rounded down; x is below 2^24.
Tensor quotient(Tensor x, int64_t n) {
  return cast(floor((cast(x, DType::kF32) + 0.5) / static_cast<double>(n)), DType::kI32);
}

Tensor as_float(Tensor condition) { return cast(condition, DType::kF32); }

// ((5 + length) / 6)^alpha.
Tensor length_norm(Tensor length, double alpha) {
  const Tensor base = (cast(length, DType::kF32) + 5.0) / 6.0;
  return pow(base, scalar_like(base, alpha));
}

// x[batch, from, ..] -> [batch, to, ..], by i32[batch, to].
Tensor pick(Tensor x, Tensor which) { return gather(x, which, 1, 1); }

// The tokens so far with one more at `position`: ids[batch, n, length], token[batch, n].
Tensor with_token(Tensor ids, Tensor token, Tensor position) {
  const Tensor place = iota(*ids.graph(), DType::kI32, ids.shape(), 2);
  const Tensor wide = broadcast_to(reshape(token, {ids.dim(0), ids.dim(1), 1}), ids.shape());
  return select(compare(place, broadcast_to(position, ids.shape()), CompareKind::kEq), wide, ids);
}

// Candidates of a step: twice as many as beams, best first.
struct Candidates {
  Tensor log_probs, beam, token, ids, ends;  // [batch, 2 beams], ids [.., length], ends f32
};

struct Search {
  Tensor position;  // of the token that is read
  Tensor ids, log_probs, finished_ids, finished_scores, finished;
  DecodeVariables& variables;
  const DecodeOptions& o;

  int64_t batch() const { return ids.dim(0); }

  Candidates candidates(Tensor logits) const {
    const int64_t beams = o.beam_size;
    const Tensor by_token = reshape(log_softmax(logits), {batch(), beams, o.vocabulary});
    const Tensor all = by_token + reshape(log_probs, {batch(), beams, 1});
    const Sorted best = top_k(reshape(all, {batch(), beams * o.vocabulary}), 2 * beams);
    Candidates c{.log_probs = best.values, .beam = quotient(best.indices, o.vocabulary)};
    c.token = best.indices - c.beam * scalar_like(c.beam, static_cast<double>(o.vocabulary));
    c.ids = with_token(pick(ids, c.beam), c.token, position);
    c.ends = as_float(compare(c.token, full_like(c.token, static_cast<double>(o.eos)), CompareKind::kEq));
    return c;
  }

  // Those that go on. Gives the beam that each comes from.
  Tensor go_on(const Candidates& c) {
    const Sorted best = top_k(c.log_probs + c.ends * kNever, o.beam_size);
    log_probs = best.values;
    ids = pick(c.ids, best.indices);
    variables.put("token", reshape(pick(c.token, best.indices), {batch() * o.beam_size}));
    return pick(c.beam, best.indices);
  }

  void finish(const Candidates& c) {
    const Tensor norm = length_norm(position + scalar_like(position, 1), o.alpha);
    const Tensor scores = c.log_probs / norm + (1.0 - c.ends) * kNever;
    const Sorted best = top_k(concat({finished_scores, scores}, 1), o.beam_size);
    finished_scores = best.values;
    finished_ids = pick(concat({finished_ids, c.ids}, 1), best.indices);
    finished = pick(concat({finished, c.ends}, 1), best.indices);
  }

  // Whether no sequence that is alive can become better than the worst that is finished.
  Tensor is_decided(Tensor max_steps) const {
    const Tensor best_alive = reduce_max(log_probs, {1}) / length_norm(max_steps, o.alpha);
    const Tensor some = reduce_max(finished, {1});
    const Tensor worst = reduce_min(finished_scores * finished, {1}) + (1.0 - some) * kNever;
    return reduce_min(compare(worst, best_alive, CompareKind::kGt));
  }

  // The finished sequences, or where a sentence has none those that are alive.
  Sequences found(Tensor done) const {
    const Tensor some = reduce_max(finished, {1}, true);
    const auto choose = [&](Tensor a, Tensor b) {
      std::vector<int64_t> dims(static_cast<size_t>(a.rank()), 1);
      dims[0] = batch();
      const Tensor has = compare(reshape(some, Shape(dims)), scalar_like(some, 0), CompareKind::kGt);
      return select(broadcast_to(has, a.shape()), a, b);
    };
    return {choose(finished_ids, ids), choose(finished_scores, log_probs), done};
  }
};

}  // namespace

void begin_beam_search(Tensor like, DecodeVariables& variables, int64_t batch, const DecodeOptions& o) {
  Graph& graph = *like.graph();
  const int64_t beams = o.beam_size;
  const Shape each{batch, beams}, ids{batch, beams, o.max_length};
  const Tensor beam = iota(graph, DType::kF32, each, 1);
  variables.put("position", full(graph, DType::kI32, {}, 0));
  variables.put("token", full(graph, DType::kI32, {batch * beams}, static_cast<double>(o.start)));
  variables.put("ids", full(graph, DType::kI32, ids, 0));
  // All beams are alike: only the first counts.
  variables.put("log_probs",
                select(compare(beam, zeros_like(beam), CompareKind::kGt), full_like(beam, kNever), zeros_like(beam)));
  variables.put("finished_ids", full(graph, DType::kI32, ids, 0));
  variables.put("finished_scores", full(graph, DType::kF32, each, kNever));
  variables.put("finished", full(graph, DType::kF32, each, 0));
  DecodeTrace::begin_writers(like, variables, batch * beams, o.max_length);
}

Sequences beam_search_step(Tensor max_steps, DecodeVariables& v, const Decoder::Next& next, const DecodeOptions& o) {
  const auto get = [&](const char* name) { return v.get(max_steps, name); };
  Search search{get("position"),
                get("ids"),
                get("log_probs"),
                get("finished_ids"),
                get("finished_scores"),
                get("finished"),
                v,
                o};
  DecodeState state = DecodeTrace::read(max_steps, v);
  const Tensor logits = cast(next(get("token"), search.position, state), DType::kF32);
  const Candidates candidates = search.candidates(logits);
  DecodeTrace::write(state, v, search.go_on(candidates));
  search.finish(candidates);
  v.put("ids", search.ids);
  v.put("log_probs", search.log_probs);
  v.put("finished_ids", search.finished_ids);
  v.put("finished_scores", search.finished_scores);
  v.put("finished", search.finished);
  const Tensor position = search.position + scalar_like(search.position, 1);
  v.put("position", position);
  const Tensor at_end = compare(position, max_steps, CompareKind::kGe);
  return search.found(maximum(at_end, search.is_decided(max_steps)));
}

}  // namespace tenon
