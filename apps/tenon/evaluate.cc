// tenon evaluate MODEL: measures a checkpoint on the test records.
#include "model/begin_with.h"
#include "process.h"

namespace tenon::runner {
namespace {

void declare_evaluate(Flags& flags, const std::vector<std::string>& words) {
  flags.leave_out({"train_data_path", "per_host_input_for_training"});
  add_model_flags(flags, words);
  add_data_flags(flags, words);
  add_eval_flags(flags);
  add_run_flags(flags);
  add_weights_flags(flags);
}

// The data may have fewer classes than a file's model.
void say_classes(const ModelRun& model) {
  const auto number = [](const std::map<std::string, int64_t>& numbers) {
    const auto found = numbers.find("num_classes");
    return found == numbers.end() ? int64_t{0} : found->second;
  };
  if (!model.info().is_file) return;
  const int64_t has = number(model.data().numbers()), scores = number(model.info().example(model.params()).numbers);
  if (has > 0 && has < scores)
    model.print_info(format("the data have %ld classes, the file's model %ld: labels are the first of these",
                            static_cast<long>(has), static_cast<long>(scores)));
}

int run_evaluate(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  if (!names_weights(flags) && !model.info().is_file) flags.required("model_dir");
  const RunEvents events = model.events();
  say_classes(model);
  const Dataset data = model.eval_data(events.on_info);
  Estimator estimator = estimator_with_weights(model, flags);
  estimator.set_events(events);
  watch_interrupts();
  const auto begun = std::chrono::steady_clock::now();
  const EvalSpec spec = model.eval_spec(data);
  const EvalResult result = estimator
                                .evaluate({.input = data,
                                           .examples = spec.examples,
                                           .drop_remainder = spec.drop_remainder,
                                           .checkpoint = flags.text("checkpoint")})
                                .take();
  check(estimator.close());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (!flags.boolean("json")) {
    print("examples %ld\n", static_cast<long>(result.examples));
    for (const auto& [name, value] : result)
      if (name != "global_step") print("%s %s\n", name.c_str(), number_text(value).c_str());
    print("global_step %.0f\n", result.at("global_step"));
    return 0;
  }
  Json json("result");
  json.add("model", model.info().name).add("examples", result.examples).add("seconds", seconds);
  for (const auto& [name, value] : result)
    if (name != "global_step") json.add(name, value);
  json.add("global_step", static_cast<int64_t>(result.at("global_step")));
  print_line(json.str());
  return 0;
}

}  // namespace

const Command kEvaluate{
    .name = "evaluate",
    .arguments = "MODEL|FILE.onnx --data_dir DIR --model_dir DIR [FLAGS]",
    .summary = "Measures a checkpoint on the test records",
    .declare = declare_evaluate,
    .run = run_evaluate,
    .details = list_of_models,
};

}  // namespace tenon::runner
