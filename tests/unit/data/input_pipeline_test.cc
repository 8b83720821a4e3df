#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include "unit/data/input_testing.h"

namespace tenon {
namespace {

std::vector<int64_t> iota(int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

InputOptions training(const TemporaryDirectory& directory) {
  InputOptions options = numbers_in(directory);
  options.training = options.repeat = true;
  options.shuffle_buffer = 8;
  options.seed = 17;
  return options;
}

TEST(InputPipeline, EvaluationReadsEachExampleOnceInOrderWithAPartialLastBatch) {
  TemporaryDirectory directory;
  write_numbers(directory, {10});
  const Read read = read_all(numbers(numbers_in(directory)));
  EXPECT_EQ(read.numbers(), iota(10));
  ASSERT_EQ(read.batches.size(), 3u);
  EXPECT_EQ(read.batches[2].size(), 2u);
}

TEST(InputPipeline, ClearsTheRowsBehindAPartialBatch) {
  TemporaryDirectory directory;
  write_numbers(directory, {5});
  const Dataset data = numbers(numbers_in(directory));
  ThreadPool pool(1);
  Ring ring(data, 2);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  pipeline->release(pipeline->next().take().slot);
  const Batch batch = pipeline->next().take();
  EXPECT_EQ(batch.rows, 1);
  const int64_t* numbers = ring.get<int64_t>(batch.slot, 0);
  EXPECT_EQ((std::vector<int64_t>(numbers, numbers + 4)), (std::vector<int64_t>{4, 0, 0, 0}));
}

TEST(InputPipeline, DropsTheRemainderWhenAsked) {
  TemporaryDirectory directory;
  write_numbers(directory, {10});
  InputOptions options = numbers_in(directory);
  options.drop_remainder = true;
  EXPECT_EQ(numbers(options).batches(), 2);
  EXPECT_EQ(read_all(numbers(options)).numbers(), iota(8));
}

TEST(InputPipeline, TheSameBatchesForAnyNumberOfThreadsAndSlots) {
  TemporaryDirectory directory;
  write_numbers(directory, {13, 7, 20});
  const Dataset data = numbers(training(directory));
  const Read reference = read_all(data, 1, 1, {}, 40);
  ASSERT_EQ(reference.batches.size(), 40u);
  for (int threads : {1, 2, 4})
    for (int slots : {1, 2, 5}) {
      const Read read = read_all(data, threads, slots, {}, 40);
      EXPECT_EQ(read.batches, reference.batches) << threads << " threads, " << slots << " slots";
      EXPECT_EQ(read.noise, reference.noise) << threads << " threads, " << slots << " slots";
    }
}

TEST(InputPipeline, TrainingSeesEachExampleOnceAnEpochInAnotherOrder) {
  TemporaryDirectory directory;
  write_numbers(directory, {13, 7, 20});
  const std::vector<int64_t> read = read_all(numbers(training(directory)), 2, 3, {}, 20).numbers();
  const std::vector<int64_t> first(read.begin(), read.begin() + 40), second(read.begin() + 40, read.end());
  EXPECT_EQ(sorted(first), iota(40));
  EXPECT_EQ(sorted(second), iota(40));
  EXPECT_NE(first, second);
  EXPECT_NE(first, iota(40));
}

TEST(InputPipeline, RandomNumbersOfAnExampleDifferBetweenEpochs) {
  TemporaryDirectory directory;
  write_numbers(directory, {8});
  const Read read = read_all(numbers(training(directory)), 2, 3, {}, 4);
  std::set<float> different;
  for (const auto& batch : read.noise) different.insert(batch.begin(), batch.end());
  EXPECT_EQ(different.size(), 16u * 3);
}

TEST(InputPipeline, ResumesBitExactlyAfterEveryBatch) {
  TemporaryDirectory directory;
  write_numbers(directory, {13, 7, 21});
  const Dataset data = numbers(training(directory));
  const Read whole = read_all(data, 2, 3, {}, 30);
  for (int threads : {1, 2, 4})
    for (size_t at = 0; at < 25; ++at) {
      const Read rest = read_all(data, threads, 3, whole.states[at], 5);
      for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(rest.batches[i], whole.batches[at + 1 + i]);
        EXPECT_EQ(rest.noise[i], whole.noise[at + 1 + i]);
      }
    }
}

TEST(InputPipeline, AnEpochTakenUpInItsMiddleEndsWhereItWouldHave) {
  TemporaryDirectory directory;
  write_numbers(directory, {10});
  InputOptions options = training(directory);
  options.repeat = false;
  const Dataset data = numbers(options);
  const Read whole = read_all(data);
  ASSERT_EQ(whole.batches.size(), 3u);
  const Read rest = read_all(data, 2, 3, whole.states[0]);
  EXPECT_EQ(rest.batches, (std::vector<std::vector<int64_t>>{whole.batches[1], whole.batches[2]}));
}

TEST(InputPipeline, RestartGoesToAnyEpoch) {
  TemporaryDirectory directory;
  write_numbers(directory, {10});
  InputOptions options = training(directory);
  options.repeat = false;
  const Dataset data = numbers(options);
  ThreadPool pool(2);
  Ring ring(data, 2);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  std::vector<std::vector<int64_t>> epochs;
  for (uint64_t epoch : {0, 1, 2, 1}) {
    ASSERT_TRUE(pipeline->restart(data.epoch(epoch)).ok());
    EXPECT_TRUE(pipeline->resumed_exactly());
    std::vector<int64_t>& read = epochs.emplace_back();
    for (Batch batch = pipeline->next().take(); !batch.end(); batch = pipeline->next().take()) {
      read.insert(read.end(), ring.get<int64_t>(batch.slot, 0), ring.get<int64_t>(batch.slot, 0) + batch.rows);
      pipeline->release(batch.slot);
    }
    EXPECT_EQ(sorted(read), iota(10));
    EXPECT_TRUE(pipeline->next().take().end()) << "an ended stream stays at its end";
  }
  EXPECT_NE(epochs[1], epochs[2]);
  EXPECT_EQ(epochs[1], epochs[3]);
  const Batch held = (check(pipeline->restart({})), pipeline->next().take());
  EXPECT_EQ(pipeline->restart({}).message(), "restart of an input pipeline: 1 slots are still held");
  pipeline->release(held.slot);
}

TEST(InputPipeline, SaysWhenAStateIsOfOtherData) {
  TemporaryDirectory directory;
  write_numbers(directory, {13, 7});
  const PipelineState state = read_all(numbers(training(directory)), 1, 1, {}, 1).states[0];
  InputOptions options = training(directory);
  ThreadPool pool(1);
  for (bool same : {true, false}) {
    if (!same) options.seed = 18;
    const Dataset data = numbers(options);
    Ring ring(data, 1);
    EXPECT_EQ(InputPipeline::create(data, pool, ring.slots, state).take()->resumed_exactly(), same);
  }
}

TEST(InputPipeline, DataOfEqualRecordCountsAreToldApart) {
  TemporaryDirectory one, same, other;
  write_numbers(one, {13, 7});
  write_numbers(same, {13, 7});
  write_numbers(other, {7, 13});
  EXPECT_EQ(numbers(training(one)).data_fingerprint(), numbers(training(same)).data_fingerprint());
  EXPECT_NE(numbers(training(one)).data_fingerprint(), numbers(training(other)).data_fingerprint());
  InputOptions options = training(one);
  options.seed = 18;  // the same data in another order
  EXPECT_EQ(numbers(options).data_fingerprint(), numbers(training(one)).data_fingerprint());
  EXPECT_NE(numbers(options).fingerprint(), numbers(training(one)).fingerprint());
}

TEST(InputPipeline, ShardsPartitionTheData) {
  for (const std::vector<int>& files :
       {std::vector<int>{5, 0, 8, 3, 4, 6}, std::vector<int>{26}, std::vector<int>{9, 17}}) {
    TemporaryDirectory directory;
    write_numbers(directory, files);
    for (int shards : {1, 2, 3, 4}) {
      std::vector<int64_t> all;
      for (int shard = 0; shard < shards; ++shard) {
        InputOptions options = numbers_in(directory);
        options.shard_index = shard;
        options.shard_count = shards;
        const std::vector<int64_t> part = read_all(numbers(options)).numbers();
        all.insert(all.end(), part.begin(), part.end());
      }
      EXPECT_EQ(sorted(all), iota(26)) << shards << " shards of " << files.size() << " files";
    }
  }
}

TEST(InputPipeline, ShardsOfOneFileDifferByOneExampleAtMost) {
  TemporaryDirectory directory;
  write_numbers(directory, {26});
  std::vector<int64_t> sizes;
  for (int shard = 0; shard < 4; ++shard) {
    InputOptions options = numbers_in(directory);
    options.shard_index = shard;
    options.shard_count = 4;
    sizes.push_back(numbers(options).size());
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{7, 7, 6, 6}));
}

TEST(InputPipeline, WritesBatchMinorFeaturesTransposed) {
  for (int64_t batch_size : {3, 16, 37}) {
    std::vector<float> values(40 * 6);
    std::iota(values.begin(), values.end(), 0.0f);
    MemoryFeature feature = memory_feature<float>("x", DType::kF32, {2, 3}, values);
    feature.spec.batch_minor = true;
    InputOptions options;
    options.batch_size = batch_size;
    const Dataset data = Dataset::from_memory({feature}, options).take();
    EXPECT_EQ(data.specs()[0].batch_type(batch_size).shape, (Shape{2, 3, batch_size}));
    ThreadPool pool(2);
    Ring ring(data, 2);
    auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
    int64_t first = 0;
    for (Batch batch = pipeline->next().take(); !batch.end(); batch = pipeline->next().take()) {
      const float* x = ring.get<float>(batch.slot, 0);
      for (int64_t element = 0; element < 6; ++element)
        for (int64_t row = 0; row < batch_size; ++row)
          ASSERT_EQ(x[element * batch_size + row],
                    row < batch.rows ? static_cast<float>((first + row) * 6 + element) : 0.0f);
      first += batch.rows;
      pipeline->release(batch.slot);
    }
    EXPECT_EQ(first, 40);
  }
}

TEST(InputPipeline, TransposesLargeBatchesInParallelToTheSameBits) {
  std::vector<float> values(20 * 60000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  MemoryFeature feature = memory_feature<float>("x", DType::kF32, {60000}, values);
  feature.spec.batch_minor = true;
  InputOptions options;
  options.batch_size = 20;
  const Dataset data = Dataset::from_memory({feature}, options).take();
  for (int threads : {1, 4}) {
    ThreadPool pool(threads);
    Ring ring(data, 1);
    auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
    const float* x = ring.get<float>(pipeline->next().take().slot, 0);
    for (size_t e = 0; e < 60000; ++e)
      for (size_t b = 0; b < 20; ++b) ASSERT_EQ(x[e * 20 + b], static_cast<float>(b * 60000 + e));
  }
}

TEST(InputPipeline, DataInMemoryIsShuffledAsAWhole) {
  std::vector<int64_t> values = iota(3000);
  InputOptions options;
  options.batch_size = 3000;
  options.training = true;
  const Dataset data =
      Dataset::from_memory({memory_feature<int64_t>("number", DType::kI64, {}, values)}, options).take();
  ThreadPool pool(1);
  Ring ring(data, 1);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  const int64_t* read = ring.get<int64_t>(pipeline->next().take().slot, 0);
  EXPECT_EQ(sorted(std::vector<int64_t>(read, read + 3000)), values);
  EXPECT_TRUE(std::any_of(read, read + 100, [](int64_t v) { return v > 2000; }));
}

TEST(InputPipeline, AFunctionCanMakeTheExamples) {
  InputOptions options;
  options.batch_size = 4;
  const Dataset data = Dataset::from_function(
                           10, {{"square", {DType::kI64, {}}}},
                           [](int64_t i, const Sample&, Slots& out) {
                             out.get<int64_t>(0)[0] = i * i;
                             return Status();
                           },
                           options)
                           .take();
  ThreadPool pool(2);
  Ring ring(data, 2);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  std::vector<int64_t> read;
  for (Batch batch = pipeline->next().take(); !batch.end(); batch = pipeline->next().take()) {
    read.insert(read.end(), ring.get<int64_t>(batch.slot, 0), ring.get<int64_t>(batch.slot, 0) + batch.rows);
    pipeline->release(batch.slot);
  }
  EXPECT_EQ(read, (std::vector<int64_t>{0, 1, 4, 9, 16, 25, 36, 49, 64, 81}));
}

TEST(InputPipeline, MakesAheadNoMoreThanTheSlotsAndGrowsWhenItIsWaitedFor) {
  std::atomic<int> made{0};
  InputOptions options;
  options.batch_size = 1;
  options.repeat = true;
  const Dataset data = Dataset::from_function(
                           1, {{"x", {DType::kI64, {}}}},
                           [&](int64_t, const Sample& sample, Slots& out) {
                             ++made;
                             out.get<int64_t>(0)[0] = static_cast<int64_t>(sample.index);
                             return Status();
                           },
                           options)
                           .take();
  ThreadPool pool(1);  // nothing is made unless next() helps: each call waits
  Ring ring(data, 4);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  EXPECT_EQ(pipeline->prefetch(), 2);
  for (int i = 0; i < 20; ++i) {
    const Batch batch = pipeline->next().take();
    EXPECT_EQ(*ring.get<int64_t>(batch.slot, 0), i);
    pipeline->release(batch.slot);
    EXPECT_LE(made.load(), i + 1 + 4);
  }
  EXPECT_EQ(pipeline->prefetch(), 4);
}

TEST(InputPipeline, CanBeDestroyedWhileItWorks) {
  TemporaryDirectory directory;
  write_numbers(directory, {50});
  const Dataset data = numbers(training(directory));
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (int i = 0; i < 30; ++i) {
      Ring ring(data, 5);
      auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
      for (int k = 0; k < i % 3; ++k) (void)pipeline->next();
    }
  }
}

TEST(InputPipeline, SaysSoWhenEverySlotIsHeld) {
  TemporaryDirectory directory;
  write_numbers(directory, {50});
  const Dataset data = numbers(training(directory));
  ThreadPool pool(2);
  Ring ring(data, 2);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  const Batch first = pipeline->next().take();
  (void)pipeline->next().take();
  EXPECT_EQ(pipeline->next().status().message(), "all 2 input slots are held: release one before next()");
  pipeline->release(first.slot);
  EXPECT_TRUE(pipeline->next().ok());
}

}  // namespace
}  // namespace tenon
