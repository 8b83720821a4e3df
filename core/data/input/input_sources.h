// The sources of examples that are no chains: records of files, a function, memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/caught.h"
#include "base/crc32c.h"
#include "base/strings.h"
#include "data/input/input_dataset.h"
#include "data/input/input_files.h"
#include "data/items.h"
#include "data/random_bits.h"

namespace tenon {

// One worker's part of a file: records first, first + stride, ...
struct FilePart {
  uint32_t file;
  uint32_t first;
  uint32_t stride;
  uint32_t count;

  int64_t record(const RecordRef& ref) const { return first + int64_t{ref.record} * stride; }
};

inline Status with_place(const Status& status, const std::string& place) {
  return Status(status.code(), cat(place, ": ", status.message()));
}

template <class Fn, class... Args>
Status call_user(const Fn& fn, Args&&... args) {
  try {
    return fn(std::forward<Args>(args)...);
  } catch (...) {
    const Status thrown = status_of_exception();
    if (thrown.code() == Code::kOutOfMemory) return thrown;
    return Status(Code::kInternal, cat("the map function threw: ", thrown.message()));
  }
}

class RecordSource : public Source {
 public:
  RecordSource(std::vector<RecordFile> files, std::vector<FilePart> parts, std::vector<std::string> lost, MapFn map)
      : files_(std::move(files)), parts_(std::move(parts)), lost_(std::move(lost)), map_(std::move(map)) {
    for (const RecordFile& file : files_.files()) records_ += file.records();
  }

  Status fill(const PlannedRow& row, Slots& out) const override {
    ItemRoom room;
    const Status status = room.run([&] { return fill_once(row.ref, row.sample, out); });
    return status.ok() ? status : with_place(status, where(row));
  }
  Status look_at(const RecordRef& ref, const std::function<Status(std::string_view)>& fn) const override {
    ItemRoom room;
    const Status status = room.run([&]() -> Status {
      std::unique_ptr<char[]> large;
      TENON_ASSIGN(const std::string_view data, files_.read(parts_[ref.part].file, record_of(ref), 0, &large));
      return call_user(fn, data);
    });
    return status.ok() ? status : with_place(status, where({.ref = ref}));
  }
  std::string where(const PlannedRow& row) const override {
    return files_.where(parts_[row.ref.part].file, record_of(row.ref));
  }
  std::vector<uint32_t> counts() const override {
    std::vector<uint32_t> counts;
    for (const FilePart& part : parts_) counts.push_back(part.count);
    for (size_t i = 0; i < kept_.size(); ++i) counts[i] = static_cast<uint32_t>(kept_[i].size());
    return counts;
  }
  // Leaves out what `keep` does not want; gives how many that are. What is damaged stays where that is tolerated.
  Result<int64_t> keep_only(const std::function<Result<bool>(std::string_view)>& keep, bool tolerate,
                            ThreadPool* pool) {
    std::vector<std::vector<uint32_t>> kept(parts_.size());
    int64_t left_out = 0;
    for (const Status& looked : for_each_item(pool, parts_.size(), [&](size_t part) -> Status {
           for (uint32_t record = 0; record < parts_[part].count; ++record) {
             bool wanted = true;
             const Status status = look_at({static_cast<uint32_t>(part), record}, [&](std::string_view data) -> Status {
               TENON_ASSIGN(wanted, keep(data));
               return {};
             });
             if (!status.ok() && (!tolerate || status.code() != Code::kInvalid)) return status;
             if (wanted) kept[part].push_back(record);
           }
           return {};
         }))
      TENON_TRY(looked);
    for (size_t i = 0; i < kept.size(); ++i) left_out += parts_[i].count - static_cast<int64_t>(kept[i].size());
    if (left_out > 0) kept_ = std::move(kept);
    return left_out;
  }
  int64_t bytes_per_example() const override { return files_.bytes() / std::max<int64_t>(records_, 1); }
  std::vector<std::string> lost() const override { return lost_; }
  uint64_t fingerprint() const override { return files_.fingerprint(); }

 private:
  int64_t record_of(const RecordRef& ref) const {
    return parts_[ref.part].record(kept_.empty() ? ref : RecordRef{ref.part, kept_[ref.part][ref.record]});
  }
  Status fill_once(const RecordRef& ref, const Sample& sample, Slots& out) const {
    std::unique_ptr<char[]> large;
    TENON_ASSIGN(const std::string_view data, files_.read(parts_[ref.part].file, record_of(ref), sample.epoch, &large));
    return call_user(map_, data, sample, out);
  }

  RecordFiles files_;
  std::vector<FilePart> parts_;
  std::vector<std::vector<uint32_t>> kept_;  // of each part, which records are examples; empty: all
  int64_t records_ = 0;
  std::vector<std::string> lost_;
  MapFn map_;
};

class FunctionSource : public Source {
 public:
  FunctionSource(FilePart part, ExampleFn fn) : part_(part), fn_(std::move(fn)) {}
  Status fill(const PlannedRow& row, Slots& out) const override {
    const Status status = call_user(fn_, part_.record(row.ref), row.sample, out);
    return status.ok() ? status : with_place(status, where(row));
  }
  std::string where(const PlannedRow& row) const override { return cat("example ", part_.record(row.ref)); }
  std::vector<uint32_t> counts() const override { return {part_.count}; }
  int64_t bytes_per_example() const override { return 32 << 10; }

 private:
  FilePart part_;
  ExampleFn fn_;
};

class MemorySource : public Source {
 public:
  MemorySource(FilePart part, std::vector<MemoryFeature> features) : part_(part), features_(std::move(features)) {
    for (const MemoryFeature& feature : features_) bytes_.push_back(feature.spec.type.bytes());
  }
  Status fill(const PlannedRow& planned, Slots& out) const override {
    const auto example = static_cast<size_t>(part_.record(planned.ref));
    for (size_t i = 0; i < features_.size(); ++i) {
      const auto row = out.get<std::byte>(i);
      std::memcpy(row.data(), features_[i].bytes().data() + example * row.size(), row.size());
    }
    return {};
  }
  bool copy(size_t feature, std::span<const PlannedRow> rows, char* to, size_t bytes) const override {
    switch (bytes) {  // sizes that are known spare a call for each row
      case 4:
        return copy_each(feature, rows, to, std::integral_constant<size_t, 4>()), true;
      case 16:
        return copy_each(feature, rows, to, std::integral_constant<size_t, 16>()), true;
      default:
        return copy_each(feature, rows, to, bytes), true;
    }
  }
  std::string where(const PlannedRow& row) const override { return cat("example ", part_.record(row.ref)); }
  std::vector<uint32_t> counts() const override { return {part_.count}; }
  int64_t bytes_per_example() const override {
    int64_t sum = 1;
    for (int64_t bytes : bytes_) sum += bytes;
    return sum;
  }
  bool immediate() const override { return true; }
  uint64_t fingerprint() const override {
    constexpr size_t kEnd = 1 << 20;  // of a feature, what is looked at
    uint64_t hash = 0;
    for (const MemoryFeature& feature : features_) {
      const std::span<const std::byte> data = feature.bytes(), end = data.last(std::min(data.size(), kEnd));
      hash = mix_hash(mix_hash(hash, data.size()), crc32c(data.data(), std::min(data.size(), kEnd)));
      hash = mix_hash(mix_hash(hash, crc32c(end.data(), end.size())), crc32c(feature.spec.name));
    }
    return hash | 1;
  }

 private:
  template <class Size>
  void copy_each(size_t feature, std::span<const PlannedRow> rows, char* to, Size bytes) const {
    const std::byte* from = features_[feature].bytes().data();
    for (const PlannedRow& row : rows) {
      std::memcpy(to, from + static_cast<size_t>(part_.record(row.ref)) * bytes, bytes);
      to += bytes;
    }
  }

  FilePart part_;
  std::vector<MemoryFeature> features_;
  std::vector<int64_t> bytes_;
};

}  // namespace tenon
