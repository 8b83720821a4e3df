// tenon inspect: what is in a graph, a plan, a model, records, a checkpoint, a file of weights, an ONNX file, the op set.
#include "inspect/inspect.h"

#include "model/model_run.h"
#include "tenon/text.h"

namespace tenon::runner {
namespace {

const std::vector<std::string> kThings = {"graph", "plan", "model", "records", "checkpoint", "weights", "onnx", "ops"};

void declare_inspect(Flags& flags, const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words[0];
  const bool built = what == "graph" || what == "plan";  // as it is trained
  flags.leave_out({"seed"});
  if (what != "plan") flags.leave_out({"threads"});
  if (what != "plan" && what != "ops") flags.leave_out({"verbose"});
  if (!built) flags.leave_out({"device"});
  if (built || what == "model") add_model_flags(flags, words);
  if (what == "model") {
    add_dtype_flag(flags);
    add_data_dir_flags(flags, words);
  }
  if (built) {
    add_training_flags(flags, words);
    add_data_dir_flags(flags, words);
    add_device_flags(flags);
    flags.text("mode", "train", "which graph of the model", {"train", "eval", "predict"});
    flags.integer("batch_size", 0, "of the graph; 0: train_batch_size", 0, 1 << 24);
    if (what == "graph")
      flags.boolean("bounded_batch", false, "the graph for batches of up to that size, with its masks");
    if (what == "plan")
      flags.boolean("buffers", false,
                    "also where the values lie in memory, from which step to which, and what shares it; so does "
                    "--verbose, in full");
  }
  if (what == "records") flags.boolean("skip_corrupt", false, "pass over damaged records and count them");
  if (what == "weights") flags.text("rules", "", "a file of rules that give its tensors other names and axes");
  if (what == "checkpoint" || what == "weights") flags.text("values", "", "print the values of this tensor");
}

Mode mode_of(const Flags& flags) {
  const std::string name = flags.text("mode");
  return name == "train" ? Mode::kTrain : name == "eval" ? Mode::kEval : Mode::kPredict;
}

int64_t batch_of(const Flags& flags) {
  return flags.integer("batch_size") > 0 ? flags.integer("batch_size") : flags.integer("train_batch_size");
}

int inspect_graph(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  Estimator estimator = model.estimator(model.run_config());
  const bool lowered = flags.given("device") || flags.boolean("use_tpu") || flags.given("tpu");
  const std::string text =
      estimator
          .graph_text(model.synthetic(batch_of(flags), true), mode_of(flags), lowered, flags.boolean("bounded_batch"))
          .take();
  if (flags.boolean("json"))
    print_line(Json("result").add("model", model.info().name).add("graph", text).str());
  else
    print_text(text);
  return 0;
}

int inspect_plan(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  Estimator estimator = model.estimator(model.run_config());
  const int64_t batch = batch_of(flags);
  const StepPlan plan = estimator.plan(model.synthetic(batch, true), mode_of(flags)).take();
  print_plan(plan, {model.info().name, flags.text("mode"), batch, flags.boolean("buffers") || flags.boolean("verbose"),
                    flags.boolean("verbose"), flags.boolean("json")});
  return 0;
}

std::string json_variable(const Estimator::VariableInfo& v, const models::ModelInfo& model,
                          const std::vector<std::string>& readers) {
  Json out;
  out.add("name", v.name).add("type", v.type.str()).add("trainable", v.trainable);
  if (model.is_file) out.raw("nodes", json_strings(readers));
  return out.str();
}

// The nodes of a file that read a variable, by whose names --freeze finds it, too.
std::string readers_text(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "  read by " : ", ") + name;
  return out;
}

int inspect_model(const Flags& flags, const std::vector<std::string>& words) {
  const ModelRun model(flags, words);
  Estimator estimator = model.estimator(RunConfig());
  int64_t total = 0, trainable = 0;
  std::string json;
  std::map<std::string, std::vector<std::string>> readers = models::readers_of_variables(model.info());
  for (const Estimator::VariableInfo& v : estimator.variables(model.synthetic(1, true)).take()) {
    const int64_t n = v.type.shape.elements();
    total += n;
    if (v.trainable) trainable += n;
    if (flags.boolean("json"))
      add_item(json, json_variable(v, model.info(), readers[v.name]));
    else
      print("%-44s %-22s %14s%s%s\n", v.name.c_str(), v.type.str().c_str(), with_commas(n).c_str(),
            v.trainable ? "" : "  not trained", readers_text(readers[v.name]).c_str());
  }
  if (!flags.boolean("json")) {
    print("%s for %s: %s parameters, %s of them trained\n", model.info().name, model.data().text().c_str(),
          with_commas(total).c_str(), with_commas(trainable).c_str());
    return 0;
  }
  Json result("result");
  result.add("model", model.info().name).add("parameters", total).add("trainable_parameters", trainable);
  for (const auto& [name, value] : model.data().numbers()) result.add(name, value);
  print_line(result.raw("variables", json_list(json)).str());
  return 0;
}

int run_inspect(const Flags& flags, const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError{"expected what to inspect: " + listed(kThings)};
  const std::string what = words[0] == "record" ? "records" : only_word({words[0]}, "thing to inspect", kThings);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (what == "graph") return inspect_graph(flags, rest);
  if (what == "plan") return inspect_plan(flags, rest);
  if (what == "model") return inspect_model(flags, rest);
  if (what == "ops") return inspect_ops(flags, rest);
  if (what == "records") return inspect_records(flags, rest);
  if (what == "weights") {
    expect_words(rest, 1, 1, "a file of weights: .safetensors, .weights.h5, .keras, .h5, .pt, a checkpoint's PREFIX");
    if (rest[0].ends_with(".onnx"))
      throw UsageError{"'" + rest[0] + "' is an ONNX file: `tenon inspect onnx` shows it"};
    return inspect_weights(flags, rest[0]);
  }
  if (what == "onnx") {
    expect_words(rest, 1, 1, "one FILE.onnx");
    return inspect_onnx(flags, rest[0]);
  }
  expect_words(rest, 1, 1, "a checkpoint: PREFIX or a model directory");
  return inspect_checkpoint(flags, rest[0]);
}

}  // namespace

const Command kInspect{
    .name = "inspect",
    .arguments =
        "graph|plan|model MODEL|FILE.onnx | records FILE.. | checkpoint PREFIX|DIR | weights FILE | onnx FILE | ops "
        "[NAME..]",
    .summary =
        "Shows what is in a graph, a device's plan of it, a model, records, a checkpoint, a file of weights, an ONNX "
        "file, "
        "the op set",
    .declare = declare_inspect,
    .run = run_inspect,
    .details =
        [](const std::vector<std::string>& words) {
          return "Each has flags of its own: `tenon inspect graph --help`.\n" + list_of_models(words);
        },
};

}  // namespace tenon::runner
