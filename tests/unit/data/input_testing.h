// Record files with numbered records, and the whole output of a pipeline.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/process/thread_pool.h"
#include "tenon/input.h"
#include "tenon/tfrecord.h"
#include "unit/data/temporary_directory.h"

namespace tenon {

inline std::string shard_path(const TemporaryDirectory& directory, const std::string& split, int shard, int shards) {
  char name[64];
  std::snprintf(name, sizeof name, "%s-%05d-of-%05d", split.c_str(), shard, shards);
  return directory / name;
}

// Writes records first, first + 1, ... as 8 bytes each into files of the given sizes.
inline void write_numbers(const TemporaryDirectory& directory, const std::vector<int>& sizes,
                          const std::string& split = "train") {
  int64_t number = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto writer =
        RecordWriter::create(shard_path(directory, split, static_cast<int>(i), static_cast<int>(sizes.size()))).take();
    for (int k = 0; k < sizes[i]; ++k, ++number)
      check(writer.write({reinterpret_cast<const char*>(&number), sizeof number}));
    check(writer.close());
  }
}

inline std::vector<FeatureSpec> number_specs() {
  return {{"number", {DType::kI64, {}}}, {"noise", {DType::kF32, {3}}}};
}

inline Status read_number(std::string_view record, const Sample& sample, Slots& out) {
  if (record.size() != 8) return Status(Code::kInvalid, "not a number");
  std::memcpy(out.get<int64_t>(0).data(), record.data(), 8);
  SampleRandom random = sample.random();
  for (float& x : out.get<float>(1)) x = random.uniform(0, 1);
  return {};
}

inline InputOptions numbers_in(const TemporaryDirectory& directory) {
  InputOptions options;
  options.data_dir = directory.path();
  options.split = "train";
  options.batch_size = 4;
  return options;
}

inline Dataset numbers(const InputOptions& options) {
  return Dataset::from_records(options, number_specs(), read_number).take();
}

// Memory for `count` batches of a dataset.
struct Ring {
  Ring(const Dataset& data, int count) {
    for (int i = 0; i < count; ++i) {
      BatchSlot slot;
      for (const FeatureSpec& spec : data.specs()) {
        memory.push_back(std::make_unique<std::vector<char>>(
            static_cast<size_t>(spec.batch_type(data.options().batch_size).bytes()), '\x7f'));
        slot.features.push_back(memory.back()->data());
      }
      slots.push_back(slot);
    }
  }
  template <class T>
  const T* get(int slot, size_t feature) const {
    return static_cast<const T*>(slots[static_cast<size_t>(slot)].features[feature]);
  }
  std::vector<std::unique_ptr<std::vector<char>>> memory;
  std::vector<BatchSlot> slots;
};

struct Read {
  std::vector<std::vector<int64_t>> batches;
  std::vector<std::vector<float>> noise;
  std::vector<PipelineState> states;
  std::vector<int64_t> numbers() const {
    std::vector<int64_t> all;
    for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
    return all;
  }
};

// At most `limit` batches.
inline Read read_all(const Dataset& data, int threads = 2, int slots = 3, PipelineState from = {},
                     size_t limit = 1000) {
  ThreadPool pool(threads);
  Ring ring(data, slots);
  auto pipeline = InputPipeline::create(data, pool, ring.slots, from).take();
  Read out;
  while (out.batches.size() < limit) {
    const Batch batch = pipeline->next().take();
    if (batch.end()) break;
    const int64_t* numbers = ring.get<int64_t>(batch.slot, 0);
    const float* noise = ring.get<float>(batch.slot, 1);
    out.batches.emplace_back(numbers, numbers + batch.rows);
    out.noise.emplace_back(noise, noise + batch.rows * 3);
    out.states.push_back(pipeline->state_after(batch));
    pipeline->release(batch.slot);
  }
  return out;
}

inline std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace tenon
