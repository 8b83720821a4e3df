// What `tenon predict --labels --output FILE.csv` wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::runner {

struct LabelledPrediction {
  int64_t row = 0;  // of the record, from 0
  int label = 0, predicted = 0;
  double of_label = 0, of_predicted = 0;  // probabilities
};
struct LabelledPredictions {
  std::vector<std::string> classes;
  std::vector<LabelledPrediction> all;
  int64_t right() const;
};

// Throws Error that names the file and what it lacks.
LabelledPredictions read_predictions(const std::string& path);

}  // namespace tenon::runner
