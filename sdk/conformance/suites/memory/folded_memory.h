// Addresses of more memory than there is, for results that are too large to be kept.
#pragma once

#include <cstdint>

namespace tenon::conformance {

// `bytes` of addresses that may be written and read. Only the last `kept` bytes have memory of their own; all before
// them share some megabytes, so that what is written there is soon written over. Throws Unavailable.
class FoldedMemory {
 public:
  FoldedMemory(uint64_t bytes, uint64_t kept);
  ~FoldedMemory();
  FoldedMemory(const FoldedMemory&) = delete;
  FoldedMemory& operator=(const FoldedMemory&) = delete;
  uint8_t* data() const { return data_; }
  // The last `n` bytes, at most those that are kept.
  const uint8_t* last(uint64_t n) const { return data_ + bytes_ - n; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_, mapped_;
};

}  // namespace tenon::conformance
