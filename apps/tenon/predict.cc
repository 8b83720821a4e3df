// tenon predict MODEL: what a checkpoint says of each example, as CSV or JSON lines.
#include <cmath>
#include <filesystem>
#include <optional>

#include "csv_text.h"
#include "model/begin_with.h"
#include "model/labels.h"
#include "process.h"
#include "tenon/atomic_file.h"
#include "tenon/processes.h"
#include "tenon/summary.h"

namespace tenon::runner {
namespace {

void declare_predict(Flags& flags, const std::vector<std::string>& words) {
  flags.leave_out({"train_data_path", "per_host_input_for_training"});
  add_model_flags(flags, words);
  add_data_flags(flags, words);
  add_run_flags(flags);
  add_weights_flags(flags);
  flags.text("output", "", "CSV file to write; empty: standard output");
  flags.boolean("labels", false,
                "write the true classes too, as `tenon plot confusion` and `tenon plot wrong` want them");
  flags.boolean("pr_curves", false, "precision and recall of each class for TensorBoard, in MODEL_DIR/eval");
}

// The file, whole or not at all; or standard output.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (!path.empty() && is_first_process()) file_ = AtomicFile::create_or_write(path).take();
  }

  Status line(const std::string& text) {
    if (!file_) return print_data(text), Status();
    TENON_TRY(file_->write(text));
    return file_->write("\n");
  }
  void close() {
    if (file_) check(file_->commit());
  }

 private:
  std::optional<AtomicFile> file_;
};

// The other names of standard output, which is more than the file of that number: backends may print there.
std::string output_of(const Flags& flags) {
  const std::string& output = flags.text("output");
  return output == "/dev/stdout" || output == "/dev/fd/1" || output == "/proc/self/fd/1" ? "" : output;
}

class Prediction {
 public:
  Prediction(const Flags& flags, const std::vector<std::string>& words)
      : flags_(flags),
        images_(images_in(flags, words)),
        model_(flags, {words.begin(), words.end() - static_cast<int64_t>(images_.size())}),
        json_(flags.boolean("json")),
        output_(output_of(flags)) {
    if (!model_.data().numbers().contains("num_classes"))
      throw UsageError{format("the model %s tells no classes; `tenon translate` and `tenon answer` use models of text",
                              model_.info().name)};
    if (curves_wanted()) (void)flags_.required("model_dir");
    if (images_.empty()) return;
    for (const char* other : {"eval_data_path", "num_eval_examples", "synthetic", "labels", "pr_curves"})
      if (flags.given(other)) throw UsageError{format("--%s and images to predict exclude each other", other)};
    // Without a record it says how large images are and what the classes are called.
    if (flags.given("data_dir") && model_.remembers())
      throw UsageError{
          "--data_dir and images to predict exclude each other: the model directory knows sizes and classes"};
  }

  int run() {
    if (!names_weights(flags_) && !model_.info().is_file) flags_.required("model_dir");
    if (!output_.empty()) set_stdout(Stdout::kLog);
    const Dataset data =
        images_.empty() ? model_.eval_data(events().on_info, true) : model_.file_data(images_, events().on_info);
    if (flags_.boolean("labels") || curves_wanted()) labels_ = read_labels(data, flags_.integer("num_eval_examples"));
    Output output(output_);
    Estimator estimator = estimator_with_weights(model_, flags_);
    estimator.set_events(events());
    watch_interrupts();
    const bool csv = !json_ || !output_.empty();
    const PredictRow row = [&](int64_t i, const auto& values) -> Status {
      if (csv && rows_ == 0) TENON_TRY(output.line(header()));
      ++rows_;
      if (curves_wanted()) keep(i, values);
      return output.line(csv ? csv_row(i, values) : json_row(i, values));
    };
    check(estimator.predict(data, row, flags_.text("checkpoint"), flags_.integer("num_eval_examples")));
    check(estimator.close());
    if (csv && rows_ == 0) check(output.line(header()));
    output.close();
    if (curves_wanted()) write_curves(step_of_weights(flags_, estimator));
    finish(estimator);
    return 0;
  }

 private:
  using Values = std::map<std::string, std::span<const float>>;

  // What is behind the model's name, which the model directory may know.
  static std::vector<std::string> images_in(const Flags& flags, const std::vector<std::string>& words) {
    const bool named = !words.empty() && models::find_model(words[0]);
    const std::vector<std::string> images(words.begin() + (named ? 1 : 0), words.end());
    for (const std::string& path : images)
      if (std::error_code error; std::filesystem::is_directory(path, error))
        throw UsageError{format("'%s' is a directory, expected JPEG and PNG files; --model_dir names a model directory",
                                path.c_str())};
    if (!named && !images.empty()) expect_no_weights(words[0]);
    if (!named && !images.empty() && flags.text("model_dir").empty() && !names_weights(flags))
      throw UsageError{format("no model '%s'; expected %s, or --model_dir DIR before files to predict",
                              words[0].c_str(), listed_models().c_str())};
    return images;
  }
  std::string name_of(int64_t classid) const {
    const std::vector<std::string>& labels = model_.data().labels();
    const auto at = static_cast<size_t>(classid);
    return at < labels.size() ? labels[at] : std::to_string(classid);
  }
  std::string header() const {
    if (!images_.empty()) return "image,class,probability";
    std::string line = flags_.boolean("labels") ? "row,classid,class,labelid,label" : "row,classid,class";
    const int64_t classes = model_.data().numbers().at("num_classes");
    for (int64_t c = 0; c < classes; ++c) line += "," + csv_field("probability_" + name_of(c));
    return line;
  }
  std::string csv_row(int64_t i, const Values& values) const {
    const auto classid = static_cast<int64_t>(values.at("classid")[0]);
    if (!images_.empty())
      return format("%s,%s,%.6g", csv_field(image(i)).c_str(), csv_field(name_of(classid)).c_str(),
                    static_cast<double>(values.at("probabilities")[static_cast<size_t>(classid)]));
    std::string line =
        format("%ld,%ld,%s", static_cast<long>(i), static_cast<long>(classid), csv_field(name_of(classid)).c_str());
    if (flags_.boolean("labels")) line += format(",%d,%s", labels_.at(i), csv_field(name_of(labels_.at(i))).c_str());
    for (const float p : values.at("probabilities")) line += format(",%.6g", static_cast<double>(p));
    return line;
  }
  std::string json_row(int64_t i, const Values& values) const {
    const auto classid = static_cast<int64_t>(values.at("classid")[0]);
    std::string list;
    for (const float p : values.at("probabilities")) {
      if (!list.empty()) list += ", ";
      list += std::isfinite(p) ? format("%.6g", static_cast<double>(p)) : "null";
    }
    Json json("prediction");
    images_.empty() ? json.add("row", i) : json.add("image", image(i));
    json.add("classid", classid).add("class", name_of(classid));
    if (flags_.boolean("labels")) json.add("labelid", labels_.at(i)).add("label", name_of(labels_.at(i)));
    return json.raw("probabilities", json_list(list)).str();
  }
  const std::string& image(int64_t row) const { return images_[static_cast<size_t>(row)]; }
  // CSV on standard output is not to be mixed with anything.
  RunEvents events() const {
    RunEvents events = model_.events();
    if (!json_ && output_.empty() && !model_.estimator_log())
      events.on_info = [](const std::string& line) { print_error(line); };
    return events;
  }
  bool curves_wanted() const { return flags_.boolean("pr_curves"); }
  void keep(int64_t row, const Values& values) {
    const std::span<const float> p = values.at("probabilities");
    probabilities_.resize(p.size());
    for (size_t c = 0; c < p.size(); ++c) probabilities_[c].push_back(p[c]);
    true_classes_.push_back(labels_.at(row));
  }
  // Each class against all others.
  void write_curves(int64_t step) const {
    SummaryWriter writer(flags_.text("model_dir") + "/eval", {.tf1 = true});
    for (size_t c = 0; c < probabilities_.size(); ++c) {
      std::vector<uint8_t> is_class;
      for (const int label : true_classes_) is_class.push_back(static_cast<size_t>(label) == c ? 1 : 0);
      writer.pr_curve(name_of(static_cast<int64_t>(c)), is_class, probabilities_[c], step);
    }
  }
  void finish(const Estimator& estimator) const {
    const int64_t step = step_of_weights(flags_, estimator);
    if (json_)
      print_line(Json("result")
                     .add("model", model_.info().name)
                     .add("rows", rows_)
                     .add("global_step", step)
                     .add("output", output_)
                     .str());
    else if (!output_.empty())
      print_line(
          format("%s of step %ld in %s", counted(rows_, "row").c_str(), static_cast<long>(step), output_.c_str()));
  }

  const Flags& flags_;
  std::vector<std::string> images_;  // files; empty: records
  ModelRun model_;
  bool json_;
  std::string output_;  // empty: standard output
  int64_t rows_ = 0;
  std::map<int64_t, int> labels_;  // by row, where they are wanted
  // What PR curves need: by class, and of each row.
  std::vector<std::vector<float>> probabilities_;
  std::vector<int> true_classes_;
};

int run_predict(const Flags& flags, const std::vector<std::string>& words) { return Prediction(flags, words).run(); }

}  // namespace

const Command kPredict{
    .name = "predict",
    .arguments = "MODEL|FILE.onnx --model_dir DIR --data_dir DIR|IMAGE.. [--output FILE.csv] [FLAGS]",
    .summary = "Writes what a checkpoint says of each example, or of JPEG and PNG files",
    .declare = declare_predict,
    .run = run_predict,
    .details = list_of_models,
};

}  // namespace tenon::runner
