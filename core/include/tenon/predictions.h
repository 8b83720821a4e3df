// What a classifier says of labelled examples, in a file from which `tenon plot confusion` and `tenon plot wrong` draw.
//
//   write_predictions("logs/predictions.csv", {.probabilities = model.predict(test)[0], .labels = labels, .classes = {"cat", "dog"}});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/array.h"

namespace tenon {

struct Predictions {
  Array probabilities;                   // floats [examples, classes], as a softmax gives them
  std::vector<int32_t> labels;           // the true class of each example, from 0
  std::vector<std::string> classes;      // their names
  std::vector<std::string> images = {};  // the file of each example, for `tenon plot wrong`; none: examples are records
};

// As CSV: row,classid,class,labelid,label,probability_CLASS.., with the column `image` behind the label where there are
// images. The file is there whole or not at all. In a job of several processes the first one writes, and the others do
// nothing. Throws Error, also where sizes differ or a label is no class. Thread safe.
void write_predictions(const std::string& path, const Predictions& predictions);

}  // namespace tenon
