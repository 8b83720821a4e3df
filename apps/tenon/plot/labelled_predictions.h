// What `tenon predict --labels --output FILE.csv` or write_predictions() (tenon/predictions.h) wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::runner {

struct LabelledPrediction {
  int64_t row = 0;  // of the record, from 0
  int label = 0, predicted = 0;
  double of_label = 0, of_predicted = 0;  // probabilities
  std::string image = {};                 // its file; empty: a record
};
struct LabelledPredictions {
  std::vector<std::string> classes;
  std::vector<LabelledPrediction> all;
  bool of_files = false;  // each has an image
  int64_t right() const;
};

// Throws Error that names the file and what it lacks.
LabelledPredictions read_predictions(const std::string& path);

}  // namespace tenon::runner
