// Examples in memory as data sets.
#pragma once

#include "tenon/model.h"

namespace tenon {

struct MemoryOptions {
  int64_t batch_size = 32;
  int64_t multiple_of = 1;  // the batch becomes the next multiple
  bool exact = false;       // only that of examples that are one batch
  bool shuffle = false;
};

// The features are named as batch_roles finds them. Throws Error: arrays of different lengths, none, another number of them than the
// model has inputs or outputs. `what` is for messages.
Dataset to_dataset(const FitData& data, const Model& model, const MemoryOptions& options, const char* what);
// All of a batch, by the same names.
Arrays to_arrays(const FitData& data, const Model& model, const char* what);

// Rows [0, n - validation) and the others, validation = ceil(n share), as Keras splits. REQUIRED: examples.
std::pair<FitData, FitData> split_examples(const FitData& data, const Model& model, double validation);

}  // namespace tenon
