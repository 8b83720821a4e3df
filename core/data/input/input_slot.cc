#include "data/input/input_slot.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/caught.h"
#include "base/strings.h"

namespace tenon {
namespace {

// in: [batch, elements], out: [elements, batch], for elements begin .. end-1. Tiles of 16 x 16 touch each cache line
// of either side once while it is there.
template <class T>
void transpose_elements(const char* in, char* out, size_t batch, size_t elements, size_t begin, size_t end) {
  constexpr size_t kTile = 16;
  const T* from = reinterpret_cast<const T*>(in);
  T* to = reinterpret_cast<T*>(out);
  for (size_t e0 = begin; e0 < end; e0 += kTile)
    for (size_t b0 = 0; b0 < batch; b0 += kTile)
      for (size_t e = e0; e < std::min(e0 + kTile, end); ++e)
        for (size_t b = b0; b < std::min(b0 + kTile, batch); ++b) to[e * batch + b] = from[b * elements + e];
}

// What the source throws gets the example's place.
Status fill_or_name(const Source& source, const PlannedRow& row, Slots& out) {
  try {
    return source.fill(row, out);
  } catch (...) {
    const Status thrown = status_of_exception();
    return Status(thrown.code(), cat(source.where(row), ": ", thrown.message()));
  }
}

}  // namespace

InputSlot::InputSlot(const Dataset::Impl& data, BatchSlot memory)
    : data_(data), bytes_(&data.bytes), memory_(std::move(memory)) {
  const size_t batch = static_cast<size_t>(data.buckets.empty() ? data.options.batch_size : data.buckets.most_rows());
  rows.resize(batch);
  kept_.resize(batch);
  std::iota(kept_.begin(), kept_.end(), 0u);
  for (size_t i = 0; i < data.specs.size(); ++i)
    if (data.specs[i].batch_minor) staging_.emplace_back(batch * data.bytes[i]);
  rows_memory_.resize(data.specs.size());
  choose_memory();
}

void InputSlot::choose_memory() {
  const bool shared = memory_.rows > 0, whole = bucket_ < 0 && static_cast<size_t>(planned) == rows.size();
  first_ = shared && whole ? static_cast<size_t>(memory_.first_row) : 0;
  end_ = shared && whole ? first_ + static_cast<size_t>(memory_.rows) : rows.size();
  memory_now_ = shared && !whole ? &memory_.rest : &memory_.features;
  blocks_ = shared && !whole ? memory_.rest_blocks : memory_.blocks;
  size_t staged = 0;
  for (size_t i = 0; i < rows_memory_.size(); ++i)
    rows_memory_[i] = data_.specs[i].batch_minor ? staging_[staged++].data() : static_cast<char*>((*memory_now_)[i]);
}

void InputSlot::set_bucket(int bucket) {
  bucket_ = bucket;
  bytes_ = bucket < 0 ? &data_.bytes : &data_.buckets.bytes[static_cast<size_t>(bucket)];
}

void InputSlot::fill(size_t begin, size_t end) noexcept {
  begin = std::max(begin, first_);
  end = std::min(end, end_);
  if (begin >= end) return;
  const std::span<const PlannedRow> all = std::span<const PlannedRow>(rows).subspan(begin, end - begin);
  bool copied = true;
  for (size_t i = 0; copied && i < rows_memory_.size(); ++i)
    copied = data_.source->copy(i, all, row_of(i, begin), (*bytes_)[i]);
  for (size_t row = begin; !copied && row < end; ++row) fill_row(row);
}

void InputSlot::fill_row(size_t row) noexcept {
  std::array<void*, kMaxFeatures> pointers;
  for (size_t i = 0; i < rows_memory_.size(); ++i) pointers[i] = row_of(i, row);
  Slots out({pointers.data(), rows_memory_.size()}, *bytes_);
  Status status = caught([&] { return fill_or_name(*data_.source, rows[row], out); });
  if (status.ok() && rows[row].status.ok()) return;
  if (!status.ok()) misses_.store(true, std::memory_order_relaxed);
  rows[row].status = std::move(status);
}

void InputSlot::copy_row(size_t from, size_t to) {
  for (size_t i = 0; i < rows_memory_.size(); ++i) std::memcpy(row_of(i, to), row_of(i, from), (*bytes_)[i]);
}

// The batch's next good row, counted around its end, stands in for a missing one.
Status InputSlot::replace_missing() {
  const size_t first = first_, end = end_row();
  const auto behind = [&](size_t row) { return row + 1 == end ? first : row + 1; };
  for (size_t row = first; row < end; ++row) {
    if (rows[row].status.ok()) continue;
    size_t from = behind(row);
    while (from != row && !rows[from].status.ok()) from = behind(from);
    if (from == row)
      return invalid("all ", end - first, " records of a batch are damaged; the first: ", rows[first].status.message());
    copy_row(from, row);
    kept_[row] = static_cast<uint32_t>(from);
  }
  return {};
}

void InputSlot::compact() {
  size_t to = 0;
  for (size_t row = 0; row < static_cast<size_t>(planned); ++row) {
    if (!rows[row].status.ok()) continue;
    if (to != row) copy_row(row, to);
    kept_[to++] = static_cast<uint32_t>(row);
  }
  valid = static_cast<int64_t>(to);
}

Status InputSlot::settle() noexcept {
  return caught([&] { return settle_rows(); });
}

Status InputSlot::settle_rows() {
  valid = planned;
  if (!std::exchange(keeps_all_, true)) std::iota(kept_.begin(), kept_.end(), 0u);
  if (misses_.exchange(false, std::memory_order_relaxed)) TENON_TRY(settle_missing());
  const size_t whole = bucket_ < 0 ? rows.size() : static_cast<size_t>(planned);
  const size_t missing = whole - static_cast<size_t>(valid);
  for (size_t i = 0; missing && i < rows_memory_.size(); ++i)
    std::memset(row_of(i, static_cast<size_t>(valid)), 0, missing * (*bytes_)[i]);
  return {};
}

Status InputSlot::settle_missing() {
  keeps_all_ = false;
  const InputOptions& options = data_.options;
  for (size_t row = first_; row < end_row(); ++row) {
    const Status& status = rows[row].status;
    if (!status.ok() && (!options.skip_corrupt || status.code() != Code::kInvalid)) return status;
  }
  if (options.training || options.drop_remainder) return replace_missing();
  compact();
  return {};
}

void InputSlot::transpose(size_t part, size_t parts) {
  for (size_t i = 0; i < data_.specs.size(); ++i) {
    if (!data_.specs[i].batch_minor) continue;
    const size_t size = static_cast<size_t>(dtype_bytes(data_.specs[i].type.dtype));
    const size_t elements = data_.bytes[i] / size;
    const size_t begin = elements * part / parts, end = elements * (part + 1) / parts;
    char* out = static_cast<char*>((*memory_now_)[i]);
    const auto run = size == 8   ? transpose_elements<uint64_t>
                     : size == 4 ? transpose_elements<uint32_t>
                     : size == 2 ? transpose_elements<uint16_t>
                                 : transpose_elements<uint8_t>;
    const size_t count = end_ - first_, share = count / static_cast<size_t>(blocks_), bytes = share * data_.bytes[i];
    for (size_t at = 0; at < count * data_.bytes[i]; at += bytes)
      run(rows_memory_[i] + at, out + at, share, elements, begin, end);
  }
}

}  // namespace tenon
