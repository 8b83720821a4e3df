// How often a callback acts that may act in the midst of an epoch.
#pragma once

#include <cstdint>
#include <string>


namespace tenon {

// "epoch", or every so many batches, counted across epochs; then at the end of the call of the device that reaches
// them.
class Frequency {
 public:
  Frequency(const char* epoch) : text_(epoch) {}     // NOLINT: implicit by design
  Frequency(int batches) : batches_(batches) {}      // NOLINT
  Frequency(int64_t batches) : batches_(batches) {}  // NOLINT
  const std::string& text() const { return text_; }  // empty: batches
  int64_t batches() const { return batches_; }

 private:
  std::string text_;
  int64_t batches_ = 0;
};

// Which batches a Frequency is due at.
class BatchCount {
 public:
  // Throws Error unless it is "epoch" or 1 or more; `what` is "CALLBACK: ARGUMENT".
  BatchCount(const std::string& what, const Frequency& every);
  bool by_epoch() const { return every_ == 0; }
  void begin_epoch() { last_ = -1; }
  // After the call of the device whose last batch that was.
  bool due(int64_t batch);

 private:
  int64_t every_ = 0, seen_ = 0, last_ = -1;
};

}  // namespace tenon
