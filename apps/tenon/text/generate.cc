// tenon generate: text that goes on where a prompt ends, by a model that `tenon train gpt` made.
#include <algorithm>

#include "data/pairs.h"
#include "model/model_run.h"
#include "process.h"
#include "tenon/subtokenizer.h"
#include "text/generator.h"
#include "text/lines.h"
#include "text/trained.h"

namespace tenon::runner {
namespace {

void declare_generate(Flags& flags, const std::vector<std::string>& words) {
  add_model_flags(flags, words);
  add_trained_flags(flags);
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
    text.end(generator.texts(prompts, on_terminal(text))[0]);
    return 0;
  }
  for (size_t at = 0; at < count; at += kAtATime) {
    std::vector<Prompt> some;
    for (size_t i = at; i < std::min(at + kAtATime, count); ++i) some.push_back(prompts[i / samples]);
    const std::vector<std::string> texts = generator.texts(some);
    for (size_t i = 0; i < texts.size(); ++i) put(some[i], texts[i], json);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Generator> open_generator(const std::string& model_dir, const std::string& device) {
  Flags flags;
  declare_generate(flags, {});
  add_common_flags(flags);
  flags.parse({"--model_dir", model_dir, "--device", device});
  const ModelRun model(flags, {});
  if (&model.kind() != &kText)
    throw Error(Status(Code::kInvalid,
                       model_dir + format(": the model %s does not continue text; gpt does", model.info().name)));
  return std::make_unique<Generator>(flags, model.params());
}

const Command kGenerate{
    .name = "generate",
    .arguments = "--model_dir DIR [--prompt TEXT | --file FILE] [FLAGS]",
    .summary = "Continues text",
    .declare = declare_generate,
    .run = run_generate,
};

}  // namespace tenon::runner
