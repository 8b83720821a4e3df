// tenon convert weights: a file of weights in another format.
#include "convert/convert_weights.h"

#include "command.h"
#include "model/model_record.h"
#include "models/networks.h"
#include "process.h"
#include "tenon/losses.h"
#include "tenon/weights_file.h"

namespace tenon::runner {
namespace {

bool is_for_keras(const std::string& path) { return path.ends_with(".weights.h5"); }

// The network whose weights a model directory has, where Keras has such: it says where Keras looks for them.
std::optional<ModelRecord> network_in(const std::string& path) {
  if (!names_checkpoint(path)) return std::nullopt;
  std::optional<ModelRecord> record = read_model_record(path);
  return record && models::is_network(record->model) ? record : std::nullopt;
}

void write_as_keras(const ModelRecord& record, const std::string& from, const std::string& rules,
                    const std::string& to) {
  Params params;
  for (const auto& [name, value] : record.flags) params.set(name, value);
  for (const auto& [name, value] : record.numbers) params.set(name, value);
  const auto number = [&](const char* name) {
    const auto found = record.numbers.find(name);
    if (found == record.numbers.end()) throw Error(Status(Code::kInvalid, record.path + ": says no " + name));
    return found->second;
  };
  Model model = models::network_of(record.model, {number("height"), number("width"), number("channels")}, params);
  model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true}), .strategy = Strategy("cpu")});
  // What a normalization has counted is of no use to a training, which has not made it.
  const WarmStartReport report = model.load_weights(from, {.by_name = true, .rules = rules});
  for (const std::string& name : report.fresh)
    if (!name.ends_with("normalization/count"))
      throw Error(Status(Code::kInvalid, "'" + from + "' lacks '" + name + "'"));
  model.save_weights(to);
}

}  // namespace

bool is_weights(const std::vector<std::string>& words) { return !words.empty() && words[0] == "weights"; }

void declare_convert_weights(Flags& flags) {
  flags.leave_out({"device", "verbose", "seed"});
  flags.text("rules", "", "a file of rules that give its tensors other names and axes");
  flags.boolean("all", false, "of a checkpoint also what optimizers keep, and where training stood");
}

int convert_weights(const Flags& flags, const std::vector<std::string>& words) {
  expect_words(words, 3, 3, "weights, a file of them, and the one to write");
  const std::string &from = words[1], &to = words[2], &rules = flags.text("rules");
  const bool all = flags.boolean("all");
  if (all && is_for_keras(to)) throw UsageError{"--all: a .weights.h5 takes weights alone"};
  const WeightsFile weights = WeightsFile::open(from, rules).take();
  if (const auto network = is_for_keras(to) ? network_in(from) : std::nullopt)
    write_as_keras(*network, from, rules, to);
  else
    check(weights.write_to(to, all));
  int64_t bytes = 0, count = 0;
  for (const auto& [name, type] : weights.tensors())
    if (all || weights.is_weight(name)) ++count, bytes += type.bytes();
  const int64_t left_out = std::ssize(weights.tensors()) - count;
  if (flags.boolean("json"))
    print_line(
        Json("result").add("output", to).add("tensors", count).add("bytes", bytes).add("left_out", left_out).str());
  else
    print("%s, %s, in %s%s\n", counted(count, "tensor").c_str(), bytes_text(static_cast<double>(bytes)).c_str(),
          to.c_str(),
          left_out == 0 ? ""
                        : format("; %s that are no weights left out (--all)", with_commas(left_out).c_str()).c_str());
  return 0;
}

}  // namespace tenon::runner
