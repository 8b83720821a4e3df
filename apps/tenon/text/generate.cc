// tenon generate: text that goes on where a prompt ends, by a model that `tenon train gpt` made.
#include <algorithm>

#include "data/pairs.h"
#include "model/model_run.h"
#include "process.h"
#include "tenon/subtokenizer.h"
#include "text/growing_text.h"
#include "text/lines.h"
#include "text/trained.h"

namespace tenon::runner {
namespace {

void declare_generate(Flags& flags, const std::vector<std::string>& words) {
  add_model_flags(flags, words);
  flags.text("model_dir", "", "directory of the model; its newest checkpoint is taken");
  flags.text("checkpoint", "", "prefix of another checkpoint");
  flags.text("vocab_file", "", "subtoken vocabulary; empty: that of the model directory");
  flags.text("prompt", "", "what the text begins with; empty: the model begins it");
  flags.text("file", "", "prompts, a line each");
  flags.integer("length", 128, "tokens of each text at most, its prompt among them", 1, 1 << 16);
  flags.boolean("one_line", false, "end each text with its line");
  flags.integer("num_samples", 1, "texts for each prompt", 1, 1 << 12);
  flags.number("temperature", 0.8, "how freely tokens are drawn; 0: the most probable each time", 0, 100);
  flags.integer("top_k", 0, "draw among so many most probable tokens; 0: all", 0, 1 << 24);
  flags.integer("seed", 0, "of what is drawn");
  flags.number("top_p", 0.95, "draw among the most probable tokens that have this probability together", 1e-6, 1);
  add_device_flags(flags);
}

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

struct Prompt {
  std::string text, place;  // "FILE:3: "
};

class Generator {
 public:
  Generator(const Flags& flags, const Params& params)
      : strategy_(device_of(flags), strategy_options(flags, params)),
        words_(trained_vocabulary(vocabulary_path(flags), params)),
        length_(std::min(flags.integer("length"), params.get<int64_t>("max_length"))),
        write_(models::generator(strategy_, params, search_of(flags, length_))) {
    if (flags.given("length") && length_ < flags.integer("length"))
      throw UsageError{format("--length is %ld; the model sees %ld tokens at a time",
                              static_cast<long>(flags.integer("length")), static_cast<long>(length_))};
    strategy_.warm_start({.ckpt_to_initialize_from = trained_checkpoint(flags)});
  }

  // All at once, each with what follows it; `grows`, where it is given, shows the first as it is written.
  std::vector<std::string> texts(const std::vector<Prompt>& prompts, GrowingText* grows) {
    const auto rows = static_cast<int64_t>(prompts.size());
    std::vector<int32_t> ids(prompts.size() * static_cast<size_t>(length_), Subtokenizer::kPad);
    for (size_t i = 0; i < prompts.size(); ++i) {
      const std::vector<int32_t> prompt = encoded(prompts[i]);
      std::copy(prompt.begin(), prompt.end(), ids.begin() + static_cast<std::ptrdiff_t>(i) * length_);
    }
    const auto shows = grows ? show_first(*grows, [this](const auto& so_far) { return decoded(so_far); }) : nullptr;
    const std::vector<int32_t> written = write_({{"prompt", Array(ids, {rows, length_})}}, 0, shows).ids.to<int32_t>();
    check_weights(strategy_);
    std::vector<std::string> out;
    for (size_t i = 0; i < prompts.size(); ++i)
      out.push_back(
          decoded(std::span(written).subspan(i * static_cast<size_t>(length_), static_cast<size_t>(length_))));
    return out;
  }

 private:
  std::vector<int32_t> encoded(const Prompt& prompt) const {
    std::vector<int32_t> ids;
    const auto wrong = [&](const std::string& what) { return Error(Status(Code::kInvalid, prompt.place + what)); };
    if (const Status status = words_.encode(prompt.text, ids); !status.ok()) throw wrong(status.message());
    if (static_cast<int64_t>(ids.size()) >= length_)
      throw wrong(format("the prompt has %zu tokens, expected fewer than %ld, which --length says", ids.size(),
                         static_cast<long>(length_)));
    return ids;
  }

  // Lines end where the model says so.
  std::string decoded(std::span<const int32_t> ids) const {
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

  Strategy strategy_;
  Subtokenizer words_;
  int64_t length_;
  Decoder write_;
};

std::vector<Prompt> prompts_of(const Flags& flags) {
  const std::string& file = flags.text("file");
  if (!file.empty() && flags.given("prompt")) throw UsageError{"--prompt and --file exclude each other"};
  if (file.empty()) return {{flags.text("prompt"), "--prompt: "}};
  std::vector<Prompt> out;
  for (std::string& line : read_lines(file))
    out.push_back({std::move(line), place_of_line(file, static_cast<int64_t>(out.size()) + 1)});
  return out;
}

void put(const Prompt& prompt, const std::string& text, bool json) {
  if (json)
    print_data(Json("text").add("prompt", prompt.text).add("text", text).str());
  else if (output_is_terminal())
    print_part(text + "\n");
  else
    print_data(text);
}

int run_generate(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  if (&model.kind() != &kText)
    throw UsageError{format("the model %s does not continue text; gpt does", model.info().name)};
  const std::vector<Prompt> prompts = prompts_of(flags);
  const auto samples = static_cast<size_t>(flags.integer("num_samples"));
  const bool json = flags.boolean("json");
  watch_interrupts();
  Generator generator(flags, model.params());
  constexpr size_t kAtATime = 32;
  const size_t count = prompts.size() * samples;
  if (count == 1 && !json && output_is_terminal()) {  // a person reads along
    GrowingText text;
    text.end(generator.texts(prompts, &text)[0]);
    return 0;
  }
  for (size_t at = 0; at < count; at += kAtATime) {
    std::vector<Prompt> some;
    for (size_t i = at; i < std::min(at + kAtATime, count); ++i) some.push_back(prompts[i / samples]);
    const std::vector<std::string> texts = generator.texts(some, nullptr);
    for (size_t i = 0; i < texts.size(); ++i) put(some[i], texts[i], json);
  }
  return 0;
}

}  // namespace

const Command kGenerate{
    .name = "generate",
    .arguments = "--model_dir DIR [--prompt TEXT | --file FILE] [FLAGS]",
    .summary = "Continues text",
    .declare = declare_generate,
    .run = run_generate,
};

}  // namespace tenon::runner
