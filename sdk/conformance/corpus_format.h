// What reader and writer of a corpus agree on, beside the order of the fields.
#pragma once

#include <cstdint>

namespace tenon::conformance {

constexpr uint64_t kCorpusMagic = 0x535550524F434E54;  // the bytes "TNCORPUS"
constexpr uint32_t kCorpusVersion = 1;

// How a graph of a case is stored.
enum StoredGraph : uint32_t {
  kNoGraph = 0,
  kGivenGraph = 1,  // flags, the eight arrays, then the data
  kWholeGraph = 2   // equal to the case's `whole`
};

}  // namespace tenon::conformance
