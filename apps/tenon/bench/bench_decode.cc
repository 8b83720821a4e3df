#include "bench/bench_decode.h"

#include <algorithm>
#include <chrono>

#include "command.h"
#include "models/models.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

constexpr int64_t kVocabulary = 33708;

Params params_of(const std::string& param_set) {
  return {{"param_set", param_set}, {"vocab_size", kVocabulary}, {"dropout", 0.0}};
}

Array random_sentences(int64_t batch, int64_t length, uint64_t seed) {
  SampleRandom random(seed, 0, 0);
  std::vector<int32_t> ids(static_cast<size_t>(batch * length));
  for (int32_t& id : ids) id = 2 + random.below(static_cast<int>(kVocabulary) - 2);
  return Array(ids, {batch, length});
}

// First values as training has them.
void make_weights(const Strategy& strategy, const Params& params) {
  Function evaluate = strategy.function(
      [&](const Features& in) {
        return Outputs{{"loss", models::transformer(in, in["targets"], Mode::kEval, params).loss}};
      },
      {.mode = Mode::kEval});
  evaluate({{"inputs", random_sentences(1, 2, 0)}, {"targets", random_sentences(1, 2, 0)}});
}

}  // namespace

std::vector<std::string> bench_decode_names() { return {"tiny", "base", "big"}; }

void declare_bench_decode(Flags& flags) {
  flags.integer("batch_size", 32, "sentences at a time", 1, 1 << 14);
  flags.integer("source_length", 32, "tokens of each", 2, 1 << 14);
  flags.integer("length", 32, "tokens that are written for each", 1, 1 << 14);
  flags.integer("beam_size", 4, "1: the most probable token each time", 1, 64);
  flags.integer("rounds", 7, "measurements, of which the least counts", 1, 1e6);
}

int run_bench_decode(const std::string& param_set, const Flags& flags) {
  const auto seed = static_cast<uint64_t>(flags.integer("seed"));
  const int64_t batch = flags.integer("batch_size"), length = flags.integer("length");
  const Strategy strategy(device_of(flags), {.seed = seed});
  const Params params = params_of(param_set);
  make_weights(strategy, params);
  Decoder write =
      models::translator(strategy, params, {.max_length = length, .beam_size = flags.integer("beam_size")});
  const Arrays inputs{{"inputs", random_sentences(batch, flags.integer("source_length"), seed)}};
  int64_t steps = write(inputs).steps;
  double least = 1e300;
  for (int64_t r = 0; r < flags.integer("rounds"); ++r) {
    const auto begun = std::chrono::steady_clock::now();
    steps = write(inputs).steps;
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  const double rate = static_cast<double>(steps * batch) / least;
  if (flags.boolean("json")) {
    print_line(Json("result")
                   .add("case", "decode_" + param_set)
                   .add("beam_size", flags.integer("beam_size"))
                   .add("batch_size", batch)
                   .add("steps", steps)
                   .add("ms", least * 1e3)
                   .add("tokens_per_second", rate)
                   .add("device", strategy.device())
                   .add("threads", process_threads())
                   .str());
    return 0;
  }
  print("decode %-5s tokens_per_second %.4g  ms %.4g  (%s, %s, %s of %s, beam_size %ld)\n", param_set.c_str(), rate,
        least * 1e3, strategy.device().c_str(), counted(process_threads(), "thread").c_str(),
        counted(batch, "sentence").c_str(), counted(steps, "token").c_str(),
        static_cast<long>(flags.integer("beam_size")));
  return 0;
}

}  // namespace tenon::runner
