// tenon plot confusion, tenon plot wrong: what a classifier takes for what.
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "pictures/confusion.h"
#include "pictures/sheet.h"
#include "plot/labelled_predictions.h"
#include "plot/plot.h"
#include "tenon/input.h"
#include "tenon/pixels.h"
#include "tenon/text_file.h"
#include "tenon/tfrecord.h"

namespace tenon::runner {
namespace {

std::string percent_text(int64_t part, int64_t all) {
  return format("%.1f %%", 100 * static_cast<double>(part) / static_cast<double>(all));
}

const std::string& only_file_of(const std::vector<std::string>& files) {
  expect_words(files, 1, 1, "PREDICTIONS.csv");
  return files[0];
}

std::string title_or(const Flags& flags, const char* otherwise) {
  return flags.text("title").empty() ? otherwise : flags.text("title");
}

std::vector<std::string> record_files(const Flags& flags) {
  const std::string& given = flags.text("eval_data_path");
  namespace fs = std::filesystem;
  const fs::path pattern = given.empty() ? fs::path(flags.required("data_dir")) / "validation-*" : fs::path(given);
  std::error_code error;
  std::vector<std::string> out;
  const std::string directory = pattern.has_parent_path() ? pattern.parent_path().string() : ".";
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (::fnmatch(pattern.filename().c_str(), entry.path().filename().c_str(), 0) == 0) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  if (out.empty()) throw Error(Status(Code::kUnavailable, format("no records '%s'", pattern.c_str())));
  return out;
}

// The images of these records, by their numbers from 0, which are rising.
class ImagesOfRecords {
 public:
  explicit ImagesOfRecords(std::vector<std::string> files) : files_(std::move(files)) {}

  PixelImage image(int64_t row) {
    for (std::string_view record;;) {
      if (!reader_) {
        if (file_ == files_.size())
          throw Error(Status(
              Code::kInvalid,
              format("the records have no row %ld: they are not those that were predicted", static_cast<long>(row))));
        reader_.emplace(RecordReader::open(files_[file_++], {.skip_corrupt = true}).take());
      }
      const uint64_t skipped = reader_->skipped();
      const bool more = reader_->next(&record).take();
      next_ += static_cast<int64_t>(reader_->skipped() - skipped);
      if (!more)
        reader_.reset();
      else if (next_++ == row)
        return record_pixels(record).take();
    }
  }

 private:
  std::vector<std::string> files_;
  size_t file_ = 0;
  std::optional<RecordReader> reader_;
  int64_t next_ = 0;
};

// Those that are wrong, whose true class was least probable first.
std::vector<LabelledPrediction> most_wrong(const LabelledPredictions& predictions, int64_t* wrong, size_t count) {
  std::vector<LabelledPrediction> out;
  for (const LabelledPrediction& p : predictions.all)
    if (p.label != p.predicted) out.push_back(p);
  *wrong = std::ssize(out);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.of_label < b.of_label; });
  if (out.size() > count) out.resize(count);
  return out;
}

constexpr int64_t kMostImageBytes = int64_t{1} << 28;

PixelImage image_of_file(const std::string& path) {
  const std::string bytes = read_text_file(path, kMostImageBytes).take();
  Result<PixelImage> image = decode_pixels(bytes);
  if (!image.ok()) throw Error(Status(image.status().code(), "'" + path + "': " + image.status().message()));
  return image.take();
}

// The images of predictions that come with rising rows.
std::function<PixelImage(const LabelledPrediction&)> images_of(const LabelledPredictions& predictions,
                                                               const Flags& flags, const std::string& path) {
  if (!predictions.of_files)
    return [records = std::make_shared<ImagesOfRecords>(record_files(flags))](const LabelledPrediction& p) {
      return records->image(p.row);
    };
  for (const char* other : {"data_dir", "eval_data_path"})
    if (flags.given(other)) throw UsageError{format("--%s is for records; %s names images", other, path.c_str())};
  return [](const LabelledPrediction& p) { return image_of_file(p.image); };
}

std::vector<pictures::SheetImage> sheet_of(const std::vector<LabelledPrediction>& wrong,
                                           const std::vector<std::string>& classes,
                                           const std::function<PixelImage(const LabelledPrediction&)>& image_of) {
  std::vector<size_t> order(wrong.size());  // of the rows
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return wrong[a].row < wrong[b].row; });
  std::vector<pictures::SheetImage> out(wrong.size());
  for (const size_t i : order) {
    PixelImage image = image_of(wrong[i]);
    out[i] = {
        image.width,
        image.height,
        std::move(image.rgb),
        classes[static_cast<size_t>(wrong[i].label)],
        format("%s, %.0f %%", classes[static_cast<size_t>(wrong[i].predicted)].c_str(), 100 * wrong[i].of_predicted),
        true};
  }
  return out;
}

}  // namespace

int plot_confusion(const Flags& flags, const std::vector<std::string>& files) {
  const LabelledPredictions predictions = read_predictions(only_file_of(files));
  const size_t n = predictions.classes.size();
  std::vector<std::vector<int64_t>> counts(n, std::vector<int64_t>(n));
  for (const LabelledPrediction& p : predictions.all)
    ++counts[static_cast<size_t>(p.label)][static_cast<size_t>(p.predicted)];
  const int64_t all = std::ssize(predictions.all), right = predictions.right();
  const std::string subtitle = counted(all, "example") + ", " + percent_text(right, all) + " right";
  write_picture(flags,
                pictures::ConfusionPicture{title_or(flags, "Confusion matrix"), subtitle, predictions.classes, counts});
  if (flags.boolean("json"))
    print_line(Json("result").add("output", flags.text("output")).add("examples", all).add("right", right).str());
  else
    print_line(subtitle + "; " + flags.text("output"));
  return 0;
}

int plot_wrong(const Flags& flags, const std::vector<std::string>& files) {
  const LabelledPredictions predictions = read_predictions(only_file_of(files));
  int64_t wrong = 0;
  const std::vector<LabelledPrediction> shown =
      most_wrong(predictions, &wrong, static_cast<size_t>(flags.integer("count")));
  const int64_t all = std::ssize(predictions.all);
  pictures::SheetPicture picture{title_or(flags, "Most wrong images"),
                                 format("%s of %s are wrong. Below each its true class, and what it was taken for",
                                        with_commas(wrong).c_str(), counted(all, "image").c_str()),
                                 sheet_of(shown, predictions.classes, images_of(predictions, flags, files[0]))};
  write_picture(flags, picture);
  if (flags.boolean("json"))
    print_line(Json("result")
                   .add("output", flags.text("output"))
                   .add("examples", all)
                   .add("wrong", wrong)
                   .add("shown", std::ssize(shown))
                   .str());
  else
    print_line(format("%s of %s are wrong; %s", with_commas(wrong).c_str(), counted(all, "image").c_str(),
                      flags.text("output").c_str()));
  return 0;
}

}  // namespace tenon::runner
