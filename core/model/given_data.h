// Examples in memory as data sets.
#pragma once

#include "tenon/model.h"

namespace tenon {

// Where a call finds its data, which the caller keeps while it runs: nothing is copied.
struct GivenData {
  GivenData(const FitData& data)  // NOLINT: implicit by design
      : dataset(data.dataset()), x(&data.x()), y(&data.y()), sample_weight(&data.sample_weight()) {}
  GivenData(const Examples& inputs, const Examples& targets, const Examples* weights = nullptr)
      : x(&inputs), y(&targets), sample_weight(weights) {}

  const Dataset* dataset = nullptr;  // or else the examples
  const Examples *x, *y;
  const Examples* sample_weight = nullptr;  // null: there are none
  int64_t begin = 0, count = -1;            // of the examples; -1: all
};

struct MemoryOptions {
  int64_t batch_size = 32;
  int64_t units = 1;  // share a batch; one that has room for all examples becomes the next multiple
  bool shuffle = false;
  bool any_size = false;  // the batch becomes the next multiple, however many examples there are
};

// The features are named as batch_roles finds them. Throws Error: arrays of different lengths, none, another number of them
// than the model has inputs or outputs, batches that the units cannot share. `what` is for messages. Reads the examples where they are.
Dataset to_dataset(const GivenData& data, const Model& model, const MemoryOptions& options, const char* what);
// All of a batch, by the same names.
Arrays to_arrays(const GivenData& data, const Model& model, const char* what);

// How many there are. REQUIRED: no Dataset.
int64_t count_examples(const GivenData& data, const Model& model, const char* what);
// Rows [0, n - validation) and the others, validation = ceil(n share), as Keras splits. REQUIRED: examples.
std::pair<GivenData, GivenData> split_examples(const GivenData& data, const Model& model, double validation);

}  // namespace tenon
