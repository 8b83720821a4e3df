// tenon plot: pictures of what training, evaluation and prediction left.
#include "plot/plot.h"

#include <algorithm>
#include <set>

namespace tenon::runner {
namespace {

struct PlotKind {
  const char* name;
  const char* arguments;
  int (*run)(const Flags& flags, const std::vector<std::string>& words);
  std::set<std::string> flags;  // that it has beside those of all
};

const std::vector<PlotKind>& kinds() {
  static const std::vector<PlotKind> all = {
      {"curves",
       "RUN.. --output F.png|F.svg [FLAGS]",
       plot_curves,
       {"tags", "smoothing", "log_scale", "width", "height"}},
      {"epochs", "RUN.. [--output F.png|F.svg] [FLAGS]", plot_epochs, {}},
      {"confusion", "PREDICTIONS.csv --output F.png|F.svg [FLAGS]", plot_confusion, {}},
      {"wrong",
       "PREDICTIONS.csv [--data_dir DIR] --output F.png|F.svg [FLAGS]",
       plot_wrong,
       {"data_dir", "eval_data_path", "count"}},
  };
  return all;
}

const PlotKind* find_kind(const std::vector<std::string>& words) {
  for (const PlotKind& kind : kinds())
    if (!words.empty() && words[0] == kind.name) return &kind;
  return nullptr;
}

void declare_plot(Flags& flags, const std::vector<std::string>& words) {
  const PlotKind* const named = find_kind(words);
  std::vector<std::string> others;
  for (const PlotKind& kind : kinds())
    if (named && &kind != named)
      for (const std::string& flag : kind.flags)
        if (!named->flags.contains(flag)) others.push_back(flag);
  flags.leave_out(others);
  flags.leave_out({"seed"});
  flags.text("output", "", "picture to write: NAME.png or NAME.svg");
  flags.text("title", "", "above the picture; empty: what it shows");
  flags.text("tags", "",
             "curves: NAME,..: the numbers to draw, as loss,accuracy; empty: what training and validation measure");
  flags.number("smoothing", 0, "curves: as TensorBoard's; what is smoothed stays faintly behind", 0, 0.999);
  flags.boolean("log_scale", false, "curves: a logarithmic scale of what is measured");
  flags.integer("width", 0, "curves: of the picture; 0: its own", 0, 10000);
  flags.integer("height", 0, "curves: of the picture; 0: its own", 0, 10000);
  flags.text("data_dir", "",
             "wrong: the directory of the records that were predicted, where PREDICTIONS.csv names no images");
  flags.text("eval_data_path", "", "wrong: pattern of their files; empty: validation-* in data_dir");
  flags.integer("count", 24, "wrong: images to show", 1, 400);
  flags.number("scale", 2, "pixels of a PNG for each of the picture", 0.25, 8);
}

int run_plot(const Flags& flags, const std::vector<std::string>& words) {
  const PlotKind* const named = find_kind(words);
  const PlotKind& kind = named ? *named : kinds()[0];
  for (const PlotKind& other : kinds())
    for (const std::string& flag : other.flags)
      if (!kind.flags.contains(flag) && flags.has(flag) && flags.given(flag))
        throw UsageError{format("--%s is of `tenon plot %s`", flag.c_str(), other.name)};
  const std::vector<std::string> rest(words.begin() + (named ? 1 : 0), words.end());
  if (rest.empty()) throw UsageError{format("expected %s", kind.arguments)};
  if (!flags.text("output").empty() || kind.run != plot_epochs) (void)picture_format(flags);
  return kind.run(flags, rest);
}

const char* plot_usage(const std::vector<std::string>& words) {
  const PlotKind* const named = find_kind(words);
  static std::string text;
  text = named ? std::string(named->name) + " " + named->arguments : "";
  return named ? text.c_str() : nullptr;
}

std::string plot_details(const std::vector<std::string>& /*words*/) {
  std::string out = "Pictures:\n";
  const char* const what[] = {
      "learning curves of training and validation, several runs in one picture",
      "time per epoch of several runs, a table too",
      "confusion matrix of what `tenon predict --labels --output PREDICTIONS.csv`, or a program by\n"
      "             write_predictions(), wrote",
      "images of it whose true class was least probable"};
  for (size_t i = 0; i < kinds().size(); ++i) out += format("  %-10s %s\n", kinds()[i].name, what[i]);
  return out +
         "Without a name they are curves. A RUN is the log_dir of a TensorBoard callback, the model_dir of `tenon "
         "train\n"
         "--save_summary_steps N`, a directory of such, or the CSV of a CSVLogger.\n";
}

}  // namespace

pictures::Format picture_format(const Flags& flags) {
  const std::string& output = flags.required("output");
  if (output.ends_with(".png")) return pictures::Format::kPng;
  if (output.ends_with(".svg")) return pictures::Format::kSvg;
  throw UsageError{"--output is '" + output + "', expected a name that ends with .png or .svg"};
}

const Command kPlot{
    .name = "plot",
    .arguments = "[curves|epochs|confusion|wrong] RUN..|PREDICTIONS.csv --output F.png|F.svg [FLAGS]",
    .summary = "Draws learning curves, times of epochs, confusion matrices and most wrong images",
    .declare = declare_plot,
    .run = run_plot,
    .usage = plot_usage,
    .details = plot_details,
};

}  // namespace tenon::runner
