// Classes of examples: how many there are of each, what weight balances them, and a split that keeps their shares.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tenon/dataset.h"

namespace tenon {

// Examples of class 0, 1, ..; as many classes as the largest label tells, or `classes`. Throws Error for a label
// beyond.
std::vector<int64_t> class_counts(std::span<const int32_t> labels, int64_t classes = 0);

// FitOptions::class_weight: of each class that has examples, examples / (classes that have some * its examples), so
// that each weighs as much as any other in a loss. Keras's guides and scikit-learn's "balanced" have the same.
std::map<int64_t, double> class_weights(std::span<const int64_t> counts);

// Indices of examples, rising.
struct SplitIndices {
  std::vector<int64_t> train, held_out;
};
// What becomes of a class that has one example, which cannot be on both sides: an error that names it, or it is trained
// on.
enum class SingleExamples : uint8_t { kRefuse, kTrain };
// Holds out `fraction` of all examples, and of each class the same, to the nearest example: at least one, and at least
// one stays; those of SingleExamples::kTrain do not count. Throws Error where none is held out. Drawn with `seed`.
SplitIndices stratified_split(std::span<const int32_t> labels, double fraction, uint64_t seed = 0,
                              SingleExamples single = SingleExamples::kRefuse);

// All labels of a feature, an integer a scalar an element; reads the data once.
std::vector<int32_t> labels_of(const Dataset& data, const std::string& feature = "label");

// The same of a Dataset, whose elements stay in their order. Its order must not change: shuffle what comes out.
struct SplitDatasets {
  Dataset train, held_out;
};
SplitDatasets stratified_split(const Dataset& data, double fraction, const std::string& feature = "label",
                               uint64_t seed = 0, SingleExamples single = SingleExamples::kRefuse);

}  // namespace tenon
