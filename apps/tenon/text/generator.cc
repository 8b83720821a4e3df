#include "text/generator.h"

#include <algorithm>

#include "command.h"
#include "models/models.h"
#include "text/trained.h"

namespace tenon::runner {
namespace {

DecodeOptions search_of(const Flags& flags, int64_t length) {
  const bool draws = flags.number("temperature") > 0;
  if (!draws)
    for (const char* name : {"top_k", "top_p", "num_samples", "seed"})
      if (flags.given(name)) throw UsageError{format("--%s needs a --temperature above 0", name)};
  return {.max_length = length,
          .eos = flags.boolean("one_line") ? Subtokenizer::kEos : Subtokenizer::kPad,
          .beam_size = 1,
          .temperature = flags.number("temperature"),
          .top_k = flags.integer("top_k"),
          .top_p = draws ? flags.number("top_p") : 1};
}

// Those before the end.
int64_t tokens_of(std::span<const int32_t> ids) {
  return std::find(ids.begin(), ids.end(), Subtokenizer::kPad) - ids.begin();
}

}  // namespace

Generator::Generator(const Flags& flags, const Params& params)
    : strategy_(device_of(flags), strategy_options(flags, params)),
      words_(trained_vocabulary(vocabulary_path(flags), params)),
      length_(std::min(flags.integer("length"), params.get<int64_t>("max_length"))),
      write_(models::generator(strategy_, params, search_of(flags, length_))) {
  if (flags.given("length") && length_ < flags.integer("length"))
    throw UsageError{format("--length is %ld; the model sees %ld tokens at a time",
                            static_cast<long>(flags.integer("length")), static_cast<long>(length_))};
  strategy_.warm_start({.ckpt_to_initialize_from = trained_checkpoint(flags)});
}

std::vector<std::string> Generator::texts(const std::vector<Prompt>& prompts, const ShowsText& grows,
                                          const std::function<bool()>& interrupted) {
  const auto rows = static_cast<int64_t>(prompts.size());
  std::vector<int32_t> ids(prompts.size() * static_cast<size_t>(length_), Subtokenizer::kPad);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<int32_t> prompt = encoded(prompts[i]);
    std::copy(prompt.begin(), prompt.end(), ids.begin() + static_cast<std::ptrdiff_t>(i) * length_);
  }
  const auto shows = show_first(grows, [this](const auto& so_far) { return decoded(so_far); });
  const std::vector<int32_t> written =
      write_({{"prompt", Array(ids, {rows, length_})}}, 0, shows, interrupted).ids.to<int32_t>();
  check_weights(strategy_);
  std::vector<std::string> out;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const size_t begin = i * static_cast<size_t>(length_);
    const auto own = std::span(written).subspan(begin, static_cast<size_t>(length_));
    tokens_ += tokens_of(own) - tokens_of(std::span(ids).subspan(begin, static_cast<size_t>(length_)));
    out.push_back(decoded(own));
  }
  return out;
}

std::vector<int32_t> Generator::encoded(const Prompt& prompt) const {
  std::vector<int32_t> ids;
  const auto wrong = [&](const std::string& what) { return Error(Status(Code::kInvalid, prompt.place + what)); };
  if (const Status status = words_.encode(prompt.text, ids); !status.ok()) throw wrong(status.message());
  if (static_cast<int64_t>(ids.size()) >= length_)
    throw wrong(format("the prompt has %zu tokens, expected fewer than %ld, the length of a prompt and its text",
                       ids.size(), static_cast<long>(length_)));
  return ids;
}

// Lines end where the model says so.
std::string Generator::decoded(std::span<const int32_t> ids) const {
  std::string out;
  while (!ids.empty() && ids[0] != Subtokenizer::kPad) {
    const auto end = std::find_if(ids.begin(), ids.end(), [](int32_t id) { return id <= Subtokenizer::kEos; });
    out += words_.decode(ids.first(static_cast<size_t>(end - ids.begin())));
    if (end == ids.end() || *end == Subtokenizer::kPad) break;
    out += '\n';
    ids = ids.subspan(static_cast<size_t>(end - ids.begin()) + 1);
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace tenon::runner
