// One batch under construction: which examples it holds and the memory they go to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "data/input/input_dataset.h"

namespace tenon {

// rows x features; every row is written by one task, so only the counters are shared.
class InputSlot {
 public:
  InputSlot(const Dataset::Impl& data, BatchSlot memory);

  // What is planned of it decides which rows are filled, and where.
  void choose_memory();
  // Fills rows begin .. end-1, as far as they are this process's, from the source; an error stays in its row, and so does what the source throws.
  void fill(size_t begin, size_t end) noexcept;

  // Once all rows are filled: deals with the missing ones and clears what lies behind the last one.
  Status settle() noexcept;

  // After settle(): the one of `rows` that row `row` of the batch is.
  const PlannedRow& source_of(int64_t row) const { return rows[kept_[static_cast<size_t>(row)]]; }

  // Writes part `part` of `parts` of the batch-minor features. REQUIRED: settle() was ok.
  void transpose(size_t part, size_t parts);
  bool has_transpose() const { return !staging_.empty(); }

  // Which bucket the batch is from; -1 without buckets.
  void set_bucket(int bucket);
  int bucket() const { return bucket_; }

  // Those that this process fills.
  size_t first_row() const { return first_; }
  size_t end_row() const { return std::min(end_, static_cast<size_t>(planned)); }

  std::vector<PlannedRow> rows;  // as many as a batch can have
  int64_t planned = 0;           // how many of them this batch asks for
  int64_t valid = 0;             // how many it got, after settle()
  uint64_t end_sample = 0;
  std::shared_ptr<PlannedBatch> batch = nullptr;  // of a chain

  // Owned by the pipeline.
  std::atomic<uint32_t> tasks_left{0};
  std::atomic<bool> ready{false};
  Status failure;

 private:
  char* row_of(size_t feature, size_t row) const { return rows_memory_[feature] + (row - first_) * (*bytes_)[feature]; }
  void fill_row(size_t row) noexcept;
  void copy_row(size_t from, size_t to);
  Status settle_rows();
  Status settle_missing();
  Status replace_missing();
  void compact();

  const Dataset::Impl& data_;
  const std::vector<size_t>* bytes_;  // of a row
  int bucket_ = -1;
  size_t first_ = 0, end_ = 0;                      // rows of the batch that are filled
  const std::vector<void*>* memory_now_ = nullptr;  // the caller's, of the batch
  int blocks_ = 1;
  std::vector<char*>
      rows_memory_;  // row-major, from the first row that is filled: the caller's memory, or staging for batch-minor features
  std::vector<std::vector<char>> staging_;
  BatchSlot memory_;
  std::atomic<bool> misses_{false};  // a row that was filled, before settle()
  std::vector<uint32_t> kept_;       // of each row of the batch: the one of `rows`
  bool keeps_all_ = true;            // kept_ counts from 0
};

}  // namespace tenon
