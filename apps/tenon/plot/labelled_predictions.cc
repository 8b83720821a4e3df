#include "plot/labelled_predictions.h"

#include <algorithm>
#include <charconv>

#include "csv_text.h"
#include "output.h"
#include "tenon/status.h"

namespace tenon::runner {
namespace {

constexpr std::string_view kProbability = "probability_";

class PredictionsReader {
 public:
  explicit PredictionsReader(const std::string& path) : table_(read_csv_table(path)) {
    row_ = required("row");
    predicted_ = required("classid");
    label_ = table_.column("labelid");
    if (label_ < 0) fail_with("no column 'labelid', the true classes; `tenon predict --labels` writes them");
    image_ = table_.column("image");
    out_.of_files = image_ >= 0;
    for (size_t c = 0; c < table_.columns.size(); ++c) {
      if (!table_.columns[c].starts_with(kProbability)) continue;
      if (probabilities_ == 0) first_ = c;
      out_.classes.push_back(table_.columns[c].substr(kProbability.size()));
      ++probabilities_;
    }
    if (probabilities_ < 2) fail_with("no columns 'probability_CLASS'");
  }

  LabelledPredictions read() {
    for (at_ = 0; at_ < table_.rows.size(); ++at_) {
      LabelledPrediction p{number<int64_t>(row_), class_in(label_), class_in(predicted_)};
      p.of_label = number<double>(static_cast<int>(first_) + p.label);
      p.of_predicted = number<double>(static_cast<int>(first_) + p.predicted);
      if (image_ >= 0) p.image = table_.rows[at_][static_cast<size_t>(image_)];
      out_.all.push_back(p);
    }
    if (out_.all.empty()) fail_with("no predictions");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail_with(const std::string& what) const {
    throw Error(Status(Code::kInvalid, table_.path + ": " + what));
  }
  int required(const char* column) const {
    const int index = table_.column(column);
    if (index < 0)
      fail_with(format("no column '%s'; `tenon predict --labels --output FILE.csv` writes such files", column));
    return index;
  }
  template <class T>
  T number(int column) const {
    const std::string& text = table_.rows[at_][static_cast<size_t>(column)];
    T out{};
    const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size())
      fail_with(format("row %zu: %s is '%s', expected a number", at_ + 1,
                       table_.columns[static_cast<size_t>(column)].c_str(), text.c_str()));
    return out;
  }
  int class_in(int column) const {
    const int id = number<int>(column);
    if (id < 0 || static_cast<size_t>(id) >= probabilities_)
      fail_with(format("row %zu: class %d, expected 0 to %zu", at_ + 1, id, probabilities_ - 1));
    return id;
  }

  CsvTable table_;
  LabelledPredictions out_;
  int row_ = 0, predicted_ = 0, label_ = 0, image_ = -1;
  size_t first_ = 0, probabilities_ = 0, at_ = 0;
};

}  // namespace

int64_t LabelledPredictions::right() const {
  return std::count_if(all.begin(), all.end(), [](const LabelledPrediction& p) { return p.label == p.predicted; });
}

LabelledPredictions read_predictions(const std::string& path) { return PredictionsReader(path).read(); }

}  // namespace tenon::runner
