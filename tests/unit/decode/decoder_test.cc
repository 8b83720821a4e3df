// Searches on models so small that all sequences can be counted: a table gives the logits of the next token by the token before
// and the place.
#include "tenon/decoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr int64_t kEos = 1;

// logits[batch, place, before, token], drawn.
struct Table {
  int64_t batch, vocabulary, length;
  std::vector<float> logits;

  Table(uint32_t seed, int64_t b, int64_t v, int64_t l) : batch(b), vocabulary(v), length(l) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 1.5f);
    for (int64_t i = 0; i < b * l * v * v; ++i) logits.push_back(normal(random));
  }
  Array array() const { return Array(logits, {batch, length, vocabulary, vocabulary}); }
  // log softmax of a row.
  double log_prob(int64_t b, int64_t place, int64_t before, int64_t token) const {
    const float* row = &logits[static_cast<size_t>(((b * length + place) * vocabulary + before) * vocabulary)];
    double sum = 0;
    for (int64_t t = 0; t < vocabulary; ++t) sum += std::exp(static_cast<double>(row[t]));
    return static_cast<double>(row[token]) - std::log(sum);
  }
};

Decoder decoder_of(const Table& table, DecodeOptions o, const std::string& device = "cpu") {
  o.vocabulary = table.vocabulary;
  o.max_length = table.length;
  const auto begin = [](const Features& in) { return in; };
  const auto next = [](Tensor token, Tensor position, DecodeState& state) {
    const Tensor at_place = gather(state["table"], reshape(position, {1}), 1);  // [rows, 1, before, token]
    const int64_t rows = token.dim(0), v = at_place.dim(2);
    return reshape(gather(reshape(at_place, {rows, v, v}), reshape(token, {rows, 1}), 1, 1), {rows, v});
  };
  return Decoder(Strategy(device, {.seed = 5}), begin, next, o);
}

struct Found {
  double score = -1e30;
  std::vector<int32_t> ids;
};

double norm(double length, double alpha) { return std::pow((5 + length) / 6, alpha); }

// The best finished sequence of all, by its definition.
void best_of_all(const Table& t, int64_t b, double alpha, std::vector<int32_t>& ids, double log_prob, Found& best) {
  const auto place = static_cast<int64_t>(ids.size());
  if (place == t.length) return;
  const int64_t before = place == 0 ? 0 : ids.back();
  for (int32_t token = 0; token < t.vocabulary; ++token) {
    ids.push_back(token);
    const double now = log_prob + t.log_prob(b, place, before, token);
    if (token != kEos) {
      best_of_all(t, b, alpha, ids, now, best);
    } else if (const double score = now / norm(static_cast<double>(place + 1), alpha); score > best.score) {
      best = {score, ids};
    }
    ids.pop_back();
  }
}

std::vector<int32_t> padded(std::vector<int32_t> ids, int64_t length) {
  ids.resize(static_cast<size_t>(length), 0);
  return ids;
}

// With as many beams as there are sequences nothing is pruned: what is found is the best there is.
TEST(BeamSearch, WithEnoughBeamsFindsWhatBruteForceFinds) {
  for (uint32_t model = 0; model < 200; ++model) {
    const int64_t vocabulary = 3 + model % 3, length = 2 + model % 3, batch = 2;
    const double alpha = model % 4 * 0.3;
    const Table table(model, batch, vocabulary, length);
    int64_t beams = 1;
    for (int64_t i = 0; i + 1 < length; ++i) beams *= vocabulary;
    Decoder decoder = decoder_of(table, {.beam_size = beams, .alpha = alpha});
    const Decoded found = decoder({{"table", table.array()}});
    for (int64_t b = 0; b < batch; ++b) {
      Found best;
      std::vector<int32_t> ids;
      best_of_all(table, b, alpha, ids, 0, best);
      const Array row = found.ids.row(b).row(0);
      EXPECT_EQ(row.to<int32_t>(), padded(best.ids, length)) << "model " << model << ", sentence " << b;
      EXPECT_NEAR(found.scores.row(b).to<double>()[0], best.score, 1e-5);
    }
  }
}

// Greedy: the most probable token, each time.
TEST(Decoder, WithOneBeamTakesTheMostProbableToken) {
  const Table table(7, 3, 6, 5);
  Decoder decoder = decoder_of(table, {.beam_size = 1});
  const Decoded found = decoder({{"table", table.array()}});
  for (int64_t b = 0; b < 3; ++b) {
    std::vector<int32_t> ids;
    double log_prob = 0;
    while (static_cast<int64_t>(ids.size()) < 5 && (ids.empty() || ids.back() != kEos)) {
      const int64_t place = static_cast<int64_t>(ids.size()), before = ids.empty() ? 0 : ids.back();
      int32_t best = 0;
      for (int32_t t = 1; t < 6; ++t)
        if (table.log_prob(b, place, before, t) > table.log_prob(b, place, before, best)) best = t;
      log_prob += table.log_prob(b, place, before, best);
      ids.push_back(best);
    }
    EXPECT_EQ(found.ids.row(b).row(0).to<int32_t>(), padded(ids, 5));
    EXPECT_NEAR(found.scores.row(b).to<double>()[0], log_prob, 1e-5);
  }
}

}  // namespace
}  // namespace tenon
