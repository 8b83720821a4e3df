// The true classes of records.
#pragma once

#include <cstdint>
#include <map>

#include "tenon/input.h"

namespace tenon::runner {

// By the record's number, from 0, as PredictRow counts; without those that are damaged; of the first `examples`, 0: of all.
// Throws Error where the data have no feature "label" of one class a record.
std::map<int64_t, int> read_labels(const Dataset& data, int64_t examples);

}  // namespace tenon::runner
