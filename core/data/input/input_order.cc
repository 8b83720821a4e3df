#include "data/input/input_order.h"

#include <algorithm>
#include <utility>

#include "data/random_bits.h"

namespace tenon {
namespace {

constexpr uint32_t kPartStream = 1;
constexpr uint32_t kShuffleStream = 2;

}  // namespace

Order::Order(std::vector<uint32_t> counts, OrderOptions options) : counts_(std::move(counts)), options_(options) {
  for (uint32_t count : counts_) size_ += count;
  if (options_.shuffle_buffer <= 1) options_.shuffle_buffer = 1;
  const uint64_t kept = std::min<uint64_t>(static_cast<uint64_t>(options_.shuffle_buffer), size_);
  buffer_.reserve(kept);
  begin_epoch(0);
}

void Order::begin_epoch(uint64_t epoch) {
  epoch_ = epoch;
  delivered_ = read_ = 0;
  parts_.resize(counts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i] = static_cast<uint32_t>(i);
  if (options_.shuffle)
    for (size_t i = parts_.size(); i > 1; --i)
      std::swap(parts_[i - 1], parts_[scale_bits(philox_bits64(options_.seed, kPartStream, epoch, i), i)]);
  next_part_ = turn_ = 0;
  buffer_.clear();
  cycle_.clear();
  Reader reader;
  while (cycle_.size() < static_cast<size_t>(std::max(options_.interleave, 1)) && open_next(reader))
    cycle_.push_back(reader);
}

bool Order::open_next(Reader& reader) {
  while (next_part_ < parts_.size()) {
    const uint32_t part = parts_[next_part_++];
    if (counts_[part] == 0) continue;
    reader = {part, 0};
    return true;
  }
  return false;
}

// One record of the part whose turn it is; an exhausted part gives its place to the next one.
RecordRef Order::read() {
  Reader& reader = cycle_[turn_];
  const RecordRef ref{reader.part, reader.record++};
  if (reader.record < counts_[ref.part] || open_next(reader)) {
    ++turn_;
  } else {
    cycle_.erase(cycle_.begin() + static_cast<std::ptrdiff_t>(turn_));
  }
  if (turn_ >= cycle_.size()) turn_ = 0;
  ++read_;
  return ref;
}

void Order::fill_buffer() {
  const auto most = static_cast<size_t>(options_.shuffle_buffer);
  while (read_ < size_ && buffer_.size() < most) {
    Reader& reader = cycle_.front();
    const uint32_t rest = counts_[reader.part] - reader.record;
    if (cycle_.size() > 1 || rest == 1) {
      buffer_.push_back(read());
      continue;
    }
    const size_t run = std::min<size_t>(most - buffer_.size(), rest - 1);  // all of one part, but for its end
    for (size_t i = 0; i < run; ++i) buffer_.push_back({reader.part, reader.record++});
    read_ += run;
  }
}

RecordRef Order::draw() {
  fill_buffer();
  if (delivered_ % 2 == 0) drawn_ = philox_pair(options_.seed, kShuffleStream, epoch_, delivered_ / 2);
  std::swap(buffer_[scale_bits(drawn_[delivered_ % 2], buffer_.size())], buffer_.back());
  const RecordRef ref = buffer_.back();
  buffer_.pop_back();
  return ref;
}

RecordRef Order::next() {
  if (delivered_ == size_) begin_epoch(epoch_ + 1);
  const RecordRef ref = options_.shuffle && options_.shuffle_buffer > 1 ? draw() : read();
  ++delivered_;
  return ref;
}

void Order::seek(uint64_t sample) {
  begin_epoch(sample / size_);
  for (uint64_t rest = sample % size_; rest > 0; --rest) next();
}

}  // namespace tenon
