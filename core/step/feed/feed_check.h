// Indices and labels that the host feeds: which features they are, and whether they are in range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "tenon/array.h"

namespace tenon {

// A feature whose integers number the entries of something: a class, a row of an embedding.
struct IndexRange {
  std::string feature;
  int64_t limit = 0;             // 0 .. limit - 1
  std::vector<int64_t> ignored;  // labels that cost nothing, allowed as well
  std::string use;               // "gather 'embedding/gather'"

  bool allows(int64_t value) const;
};

// The narrowest range of each FEED input that reaches a gather, a scatter or a sparse cross entropy by nothing but moves and
// casts.
std::vector<IndexRange> index_ranges(const Graph& graph);

// Holds a batch of the feature against the range: `rows` examples of `elements` integers (u8, i32 or i64), dense, or in
// shares of `batch_if_minor` examples with the batch as the last axis, one after the other. The first row that has a value
// outside and that value, or row -1.
struct Outside {
  int64_t row = -1, value = 0;
};
Outside find_outside(const IndexRange& range, const void* values, DType dtype, int64_t rows, int64_t elements,
                     int64_t batch_if_minor = 0);

// The float farthest from 0 in a batch that is laid out so, or the first that is NaN or infinity. Row -1 where the dtype has
// no floats.
struct Farthest {
  int64_t row = -1;
  double value = 0;
};
Farthest find_farthest(const void* values, DType dtype, int64_t rows, int64_t elements, int64_t batch_if_minor = 0);

// "feature 'label' is 12, expected 0 to 9 for softmax_cross_entropy 'loss'"
std::string outside_message(const IndexRange& range, int64_t value);

}  // namespace tenon
