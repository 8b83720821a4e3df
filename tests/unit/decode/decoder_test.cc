// Searches on models so small that all sequences can be counted: a table gives the logits of the next token by the token before
// and the place.
#include "tenon/decoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
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
    const int64_t vocabulary = 3 + model % 3, length = 2 + model % 5, batch = 2;
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

// Beam search by its definition, of some sentences that end together.
struct Beam {
  double score = 0;  // of one that is alive the log probability
  std::vector<int32_t> ids;
};
using Beams = std::vector<Beam>;

void keep_best(Beams& beams, size_t n) {
  std::sort(beams.begin(), beams.end(), [](const Beam& a, const Beam& b) { return a.score > b.score; });
  if (beams.size() > n) beams.resize(n);
}

class PlainSearch {
 public:
  PlainSearch(const Table& table, int64_t beams, double alpha)
      : t_(table), beams_(static_cast<size_t>(beams)), alpha_(alpha), of_(static_cast<size_t>(table.batch)) {}

  // Best first: of each sentence the finished ones, or where there are none those that are alive.
  std::vector<Beams> run() {
    for (Sentence& s : of_) s.alive = {Beam{}};
    bool decided = false;
    for (int64_t place = 0; place < t_.length && !decided; ++place) {
      decided = true;
      for (size_t b = 0; b < of_.size(); ++b) {
        step(of_[b], static_cast<int64_t>(b), place);
        decided = is_decided(of_[b]) && decided;
      }
    }
    std::vector<Beams> out;
    for (const Sentence& s : of_) out.push_back(s.finished.empty() ? s.alive : s.finished);
    return out;
  }

 private:
  struct Sentence {
    Beams alive, finished;
  };

  void step(Sentence& s, int64_t b, int64_t place) const {
    Beams candidates;
    for (const Beam& beam : s.alive)
      for (int32_t token = 0; token < t_.vocabulary; ++token) {
        Beam& next = candidates.emplace_back(beam);
        next.score += t_.log_prob(b, place, place == 0 ? 0 : beam.ids.back(), token);
        next.ids.push_back(token);
      }
    keep_best(candidates, 2 * beams_);
    s.alive.clear();
    for (Beam& c : candidates) {
      const bool ends = c.ids.back() == kEos;
      if (ends) c.score /= norm(static_cast<double>(place + 1), alpha_);
      (ends ? s.finished : s.alive).push_back(std::move(c));
    }
    keep_best(s.alive, beams_);
    keep_best(s.finished, beams_);
  }

  bool is_decided(const Sentence& s) const {
    return !s.finished.empty() &&
           s.finished.back().score > s.alive[0].score / norm(static_cast<double>(t_.length), alpha_);
  }

  const Table& t_;
  size_t beams_;
  double alpha_;
  std::vector<Sentence> of_;
};

// 14 models at a time.
void expect_plain_search(const std::string& device, int64_t beams, int64_t length) {
  const double alpha = static_cast<double>(length % 4) * 0.4;
  const Table table(static_cast<uint32_t>(100 * beams + length), 14, 5, length);
  Decoder decoder = decoder_of(table, {.beam_size = beams, .alpha = alpha}, device);
  const Decoded found = decoder({{"table", table.array()}});
  const std::vector<Beams> expected = PlainSearch(table, beams, alpha).run();
  for (int64_t b = 0; b < table.batch; ++b) {
    const Beams& best = expected[static_cast<size_t>(b)];
    for (size_t i = 0; i < best.size(); ++i) {
      SCOPED_TRACE(device + ", " + std::to_string(beams) + " beams of " + std::to_string(length) + ", model " +
                   std::to_string(b) + ", beam " + std::to_string(i));
      EXPECT_EQ(found.ids.row(b).row(static_cast<int64_t>(i)).to<int32_t>(), padded(best[i].ids, length));
      EXPECT_NEAR(found.scores.row(b).to<double>()[i], best[i].score, 1e-5);
    }
  }
}

TEST(BeamSearch, FindsWhatAPlainSearchFindsInTwoHundredModels) {
  for (int64_t beams = 2; beams <= 4; ++beams)
    for (int64_t length = 2; length <= 6; ++length) expect_plain_search("cpu", beams, length);
}

TEST(BeamSearch, FindsTheSameOnATpu) {
  for (int64_t beams = 2; beams <= 4; ++beams) expect_plain_search("tpu-emulator:v2-8", beams, 6);
}

// Greedy: the most probable token, each time.
// Logits by attention to all tokens so far. `appends`: by append(), else by what it stands for.
Decoder decoder_with_history(bool appends, int64_t beams, const std::string& device) {
  constexpr int64_t kVocabulary = 7, kLength = 9, kHeads = 2, kSize = 4;
  const auto begin = [=](const Features& in) {
    const Tensor nothing = full(*in["table"].graph(), DType::kF32, {in["table"].dim(0), kLength, kHeads, kSize}, 0);
    Features out = in;
    for (const char* name : {"keys", "values"}) out.set(name, nothing);
    return out;
  };
  const auto next = [=](Tensor token, Tensor position, DecodeState& state) {
    const int64_t rows = token.dim(0);
    const Tensor of_token =
        reshape(gather(state["table"], reshape(token, {rows, 1}), 1, 1), {rows, 1, kHeads, 3 * kSize});
    const auto part = [&](int64_t i) {
      return slice(of_token, {0, 0, 0, i * kSize}, {rows, 1, kHeads, (i + 1) * kSize}, {1, 1, 1, 1});
    };
    const auto history = [&](const char* name, Tensor row) {
      if (appends) return state.append(name, row);
      state.set(name, scatter(state[name], reshape(position, {1}), row, 1, 0, ScatterKind::kSet));
      return state[name];
    };
    const Tensor keys = history("keys", part(1)), values = history("values", part(2));
    const Tensor place = iota(*token.graph(), DType::kF32, {1, 1, 1, kLength}, 3);
    const Tensor seen = compare(place, cast(broadcast_to(position, place.shape()), DType::kF32), CompareKind::kLe);
    const Tensor zero = zeros_like(place);
    const Tensor y = attention(part(0), keys, values, select(seen, zero, full_like(zero, -1e9)), {}, {}, {}).y;
    return slice(reshape(y, {rows, kHeads * kSize}), {0, 0}, {rows, kVocabulary}, {1, 1});
  };
  return Decoder(Strategy(device, {.seed = 5}), begin, next,
                 {.vocabulary = kVocabulary, .max_length = kLength, .beam_size = beams});
}

TEST(Decoder, AppendsToWhatEachSequenceGoesOnFrom) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> numbers(3 * 7 * 2 * 12);
  for (float& x : numbers) x = normal(random);
  const Arrays in{{"table", Array(numbers, {3, 7, 24})}};
  for (const char* device : {"cpu", "opencl-gpu", "tpu-emulator:v2-8"})
    for (const int64_t beams : {1, 2, 5}) {
      const Decoded appended = decoder_with_history(true, beams, device)(in),
                    put = decoder_with_history(false, beams, device)(in);
      EXPECT_EQ(appended.ids.to<int32_t>(), put.ids.to<int32_t>()) << device << ", " << beams;
      EXPECT_EQ(appended.scores.to<float>(), put.scores.to<float>()) << device << ", " << beams;
    }
}

TEST(Decoder, SaysWhatCannotBeAppended) {
  const auto error = [](const std::function<void(Tensor, DecodeState&)>& wrong) -> std::string {
    const auto begin = [](const Features& in) { return in; };
    const auto next = [&](Tensor token, Tensor, DecodeState& state) {
      wrong(full(*token.graph(), DType::kF32, {token.dim(0), 1, 2}, 0), state);
      return full(*token.graph(), DType::kF32, {token.dim(0), 5}, 0);
    };
    try {
      Decoder decoder(Strategy("cpu"), begin, next, {.vocabulary = 5, .max_length = 4});
      const Arrays in{{"x", Array(std::vector<float>(24), {2, 4, 3})},
                      {"h", Array(std::vector<float>(16), {2, 4, 2})},
                      {"long", Array(std::vector<float>(20), {2, 5, 2})}};
      decoder(in);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error([](Tensor row, DecodeState& s) { s.append("x", row); }),
            "decoding: f32[8,1,2] is appended to 'x', f32[8,4,3], expected a row of it, [rows, 1, ..]");
  EXPECT_EQ(error([](Tensor row, DecodeState& s) { s.append("long", row); }),
            "decoding: 'long' is f32[8,5,2], expected max_length, 4, places");
  EXPECT_EQ(error([](Tensor row, DecodeState& s) { s.append("h", row), s.append("h", row); }),
            "decoding: 'h' is appended to, but was set or appended to in this step");
}

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

// Each that is shown is the whole up to its last step.
void expect_grown(const std::vector<Decoded>& shown, const Decoded& whole, int64_t length) {
  const std::vector<int32_t> all = whole.ids.to<int32_t>();
  int64_t before = 0;
  for (const Decoded& d : shown) {
    EXPECT_GT(d.steps, before);
    before = d.steps;
    std::vector<int32_t> expected = all;
    for (size_t i = 0; i < expected.size(); ++i)
      if (static_cast<int64_t>(i) % length >= d.steps) expected[i] = 0;
    EXPECT_EQ(d.ids.to<int32_t>(), expected) << "after " << d.steps << " steps";
  }
}

TEST(Decoder, ShowsInPartsWhatOneCallWrites) {
  constexpr int64_t kLength = 60;
  const Table table(3, 2, 12, kLength);
  const Arrays in{{"table", table.array()}};
  const std::vector<DecodeOptions> searches = {{.beam_size = 1}, {.beam_size = 1, .temperature = 2}};
  for (const DecodeOptions& search : searches) {
    const Decoded whole = decoder_of(table, search)(in, 50);
    std::vector<Decoded> shown;
    const Decoded last = decoder_of(table, search)(in, 50, [&](const Decoded& d) { shown.push_back(d); });
    EXPECT_GT(shown.size(), 1);
    EXPECT_EQ(last.steps, whole.steps);
    EXPECT_EQ(last.ids.to<int32_t>(), whole.ids.to<int32_t>());
    EXPECT_EQ(last.scores.to<double>(), whole.scores.to<double>());
    EXPECT_EQ(shown.back().steps, whole.steps);
    expect_grown(shown, whole, kLength);
  }
}

TEST(Decoder, EndsWhereWhoWatchesThrows) {
  const Table table(3, 2, 12, 20);
  const Arrays in{{"table", table.array()}};
  Decoder decoder = decoder_of(table, {.beam_size = 1});
  int seen = 0;
  EXPECT_THROW(decoder(in, 0, [&](const Decoded&) { ++seen, throw std::runtime_error("enough"); }), std::runtime_error);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(decoder(in).ids.to<int32_t>(), decoder_of(table, {.beam_size = 1})(in).ids.to<int32_t>());
}

TEST(Decoder, WritesWithBeamsInPartsWhatOneCallWrites) {
  const Table table(3, 2, 12, 60);
  const Arrays in{{"table", table.array()}};
  const Decoded whole = decoder_of(table, {.beam_size = 3})(in, 50);
  int asked = 0;
  const Decoded last = decoder_of(table, {.beam_size = 3})(in, 50, nullptr, [&] { return ++asked, false; });
  EXPECT_GT(asked, 1);
  EXPECT_EQ(last.steps, whole.steps);
  EXPECT_EQ(last.ids.to<int32_t>(), whole.ids.to<int32_t>());
  EXPECT_EQ(last.scores.to<double>(), whole.scores.to<double>());
}

TEST(Decoder, EndsWhereItIsInterrupted) {
  const Table table(3, 2, 12, 20);
  const Arrays in{{"table", table.array()}};
  for (const int64_t beams : {1, 2}) {
    Decoder decoder = decoder_of(table, {.beam_size = beams});
    int asked = 0;
    try {
      decoder(in, 0, nullptr, [&] { return ++asked == 2; });
      FAIL() << "expected an error";
    } catch (const Error& e) {
      EXPECT_EQ(e.status().code(), Code::kInterrupted);
    }
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(decoder(in).ids.to<int32_t>(), decoder_of(table, {.beam_size = beams})(in).ids.to<int32_t>());
  }
}

TEST(Decoder, ShowsNoBeams) {
  const Table table(3, 2, 12, 20);
  try {
    decoder_of(table, {.beam_size = 2})({{"table", table.array()}}, 0, [](const Decoded&) {});
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "Decoder: beam_size is 2, expected 1 where sequences are shown as they grow");
  }
}

TEST(Sampling, AmongOneTokenTakesTheMostProbable) {
  const Table table(11, 8, 6, 5);
  const Arrays in{{"table", table.array()}};
  Decoder greedy = decoder_of(table, {.beam_size = 1});
  Decoder drawn = decoder_of(table, {.beam_size = 1, .temperature = 3, .top_k = 1});
  Decoder nucleus = decoder_of(table, {.beam_size = 1, .temperature = 3, .top_p = 1e-6});
  const Decoded most = greedy(in);
  for (Decoder* one : {&drawn, &nucleus}) {
    const Decoded found = (*one)(in);
    EXPECT_EQ(found.ids.to<int32_t>(), most.ids.to<int32_t>());
    EXPECT_EQ(found.scores.to<double>(), most.scores.to<double>());
  }
}

constexpr int64_t kDraws = 20000, kTokens = 6;

// What each token is drawn with, by the definition.
std::vector<double> probabilities(const std::vector<float>& logits, const DecodeOptions& o) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (o.top_k > 0) order.resize(static_cast<size_t>(o.top_k));
  const auto weight = [&](size_t i) { return std::exp(static_cast<double>(logits[i]) / o.temperature); };
  const auto sum = [&] {
    return std::accumulate(order.begin(), order.end(), 0.0, [&](double s, size_t i) { return s + weight(i); });
  };
  const double all = sum();
  double together = 0;
  size_t kept = 0;
  while (kept < order.size() && together < o.top_p) together += weight(order[kept++]) / all;
  order.resize(kept);
  std::vector<double> out(logits.size(), 0);
  for (const size_t i : order) out[i] = weight(i) / sum();
  return out;
}

void expect_drawn_as_told(const std::string& device, DecodeOptions o) {
  const std::vector<float> logits = {0.3f, 1.5f, -0.7f, 0.9f, -1.6f, 0.1f};
  Table table(0, 1, kTokens, 1);
  table.batch = kDraws;
  table.logits.clear();
  for (int64_t i = 0; i < kDraws * kTokens; ++i) table.logits.insert(table.logits.end(), logits.begin(), logits.end());
  o.beam_size = 1;
  Decoder decoder = decoder_of(table, o, device);
  std::vector<int64_t> counts(kTokens, 0);
  for (const int32_t id : decoder({{"table", table.array()}}).ids.to<int32_t>()) ++counts[static_cast<size_t>(id)];

  const std::vector<double> expected = probabilities(logits, o);
  double chi_square = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double n = expected[i] * static_cast<double>(kDraws), off = static_cast<double>(counts[i]) - n;
    if (n > 0)
      chi_square += off * off / n;
    else
      EXPECT_EQ(counts[i], 0) << "token " << i << " is outside";
  }
  EXPECT_LT(chi_square, 25.7) << device << ": of at most 5 degrees of freedom 99.99 % are below";
}

TEST(Sampling, DrawsEachTokenAsOftenAsItsProbabilitySays) {
  const std::vector<DecodeOptions> cases = {
      {.temperature = 1},
      {.temperature = 0.5},
      {.temperature = 2.5},
      {.temperature = 1, .top_k = 3},
      {.temperature = 1, .top_p = 0.7},
      {.temperature = 1, .top_p = 0.4},
      {.temperature = 1.5, .top_k = 4, .top_p = 0.8},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    expect_drawn_as_told("cpu", cases[i]);
  }
  expect_drawn_as_told("tpu-emulator:v2-8", {.temperature = 1.5, .top_k = 4, .top_p = 0.8});
}

}  // namespace
}  // namespace tenon
