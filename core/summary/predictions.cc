#include "tenon/predictions.h"

#include <algorithm>

#include "base/python_text.h"
#include "base/strings.h"
#include "tenon/atomic_file.h"
#include "tenon/processes.h"
#include "tenon/status.h"

namespace tenon {
namespace {

void check_sizes(const Predictions& p) {
  const Shape& shape = p.probabilities.shape();
  const int64_t examples = std::ssize(p.labels), classes = std::ssize(p.classes);
  if (!is_float(p.probabilities.dtype()) || shape != Shape{examples, classes})
    fail("write_predictions: probabilities are ", p.probabilities.type().str(), ", expected floats [", examples, ",",
         classes, "] as there are labels and classes");
  if (!p.images.empty() && p.images.size() != p.labels.size())
    fail("write_predictions: ", p.images.size(), " images, expected ", examples, " as there are labels");
  for (size_t row = 0; row < p.labels.size(); ++row)
    if (p.labels[row] < 0 || p.labels[row] >= classes)
      fail("write_predictions: the label of row ", row, " is ", p.labels[row], ", expected 0 to ", classes - 1);
}

std::string header_of(const Predictions& p) {
  std::string out = cat("row,classid,class,labelid,label", p.images.empty() ? "" : ",image");
  for (const std::string& name : p.classes) out += "," + csv_field(cat("probability_", name));
  return out + "\n";
}

std::string line_of(const Predictions& p, size_t row, std::span<const float> probabilities) {
  const auto likeliest =
      static_cast<size_t>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
  const auto label = static_cast<size_t>(p.labels[row]);
  std::string out =
      cat(row, ",", likeliest, ",", csv_field(p.classes[likeliest]), ",", label, ",", csv_field(p.classes[label]));
  if (!p.images.empty()) out += "," + csv_field(p.images[row]);
  for (const float probability : probabilities) out += cat(",", probability);
  return out + "\n";
}

}  // namespace

void write_predictions(const std::string& path, const Predictions& predictions) {
  check_sizes(predictions);
  if (!is_first_process()) return;
  const std::vector<float> all = predictions.probabilities.to<float>();
  const size_t classes = predictions.classes.size();
  AtomicFile file = AtomicFile::create_or_write(path).take();
  check(file.write(header_of(predictions)));
  for (size_t row = 0; row < predictions.labels.size(); ++row)
    check(file.write(line_of(predictions, row, std::span(all).subspan(row * classes, classes))));
  check(file.commit());
}

}  // namespace tenon
