#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "unit/data/input_testing.h"

namespace tenon {
namespace {

std::vector<int64_t> iota(int64_t count) {
  std::vector<int64_t> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
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

// Damage

// Flips the last data byte of record `record` of a file of 8-byte records (24 bytes a frame).
void damage(const std::string& path, int record, int byte = 19) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(record * 24 + byte);
  const char c = static_cast<char>(file.get() ^ 1);
  file.seekp(record * 24 + byte);
  file.put(c);
}

// What RecordWriter would have written behind `data`: formats.md, mask(crc32c(data)), polynomial 0x82F63B78 bit by bit.
uint32_t checksum(const std::string& data) {
  uint32_t crc = ~0u;
  for (char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
std::string eight_bytes(uint64_t value) { return {reinterpret_cast<const char*>(&value), 8}; }
std::string expected_found(uint32_t expected, uint32_t found) {
  return "expected " + std::to_string(expected) + ", found " + std::to_string(found);
}

TEST(InputPipeline, ADamagedRecordEndsTheStreamNamingFileOffsetAndChecksums) {
  TemporaryDirectory directory;
  write_numbers(directory, {10});
  const std::string path = shard_path(directory, "train", 0, 1);
  damage(path, 5);
  const Dataset data = numbers(numbers_in(directory));
  for (int threads : {1, 4}) {
    ThreadPool pool(threads);
    Ring ring(data, 3);
    auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
    EXPECT_TRUE(pipeline->next().ok());
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(pipeline->next().status().message(),
                path + ": record at offset 120: checksum of the data: " +
                    expected_found(checksum(eight_bytes(5 | uint64_t{1} << 56)), checksum(eight_bytes(5))));
  }
}

TEST(InputPipeline, EvaluationLeavesDamagedRecordsOutAndCountsThem) {
  TemporaryDirectory directory;
  write_numbers(directory, {12});
  for (int record : {1, 4, 5, 6, 7, 11}) damage(shard_path(directory, "train", 0, 1), record);
  InputOptions options = numbers_in(directory);
  options.skip_corrupt = true;
  const Dataset data = numbers(options);
  ThreadPool pool(2);
  Ring ring(data, 3);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  std::vector<std::vector<int64_t>> batches;
  for (Batch batch = pipeline->next().take(); !batch.end(); batch = pipeline->next().take()) {
    batches.emplace_back(ring.get<int64_t>(batch.slot, 0), ring.get<int64_t>(batch.slot, 0) + batch.rows);
    for (int64_t row = 0; row < batch.rows; ++row) {
      const int64_t number = batches.back()[static_cast<size_t>(row)];
      EXPECT_EQ(pipeline->position(batch, row), number);
      EXPECT_EQ(pipeline->where(batch, row),
                shard_path(directory, "train", 0, 1) + ": record at offset " + std::to_string(24 * number));
    }
    pipeline->release(batch.slot);
  }
  EXPECT_EQ(batches, (std::vector<std::vector<int64_t>>{{0, 2, 3}, {8, 9, 10}}))
      << "a batch of which nothing is left is not delivered";
  EXPECT_TRUE(pipeline->lost().empty());
  EXPECT_EQ(pipeline->corrupt_records(), 6);
}

TEST(InputPipeline, TrainingReplacesADamagedRecordByTheNextOfItsBatch) {
  TemporaryDirectory directory;
  write_numbers(directory, {8});
  for (int record : {1, 2, 7}) damage(shard_path(directory, "train", 0, 1), record);
  InputOptions options = numbers_in(directory);
  options.skip_corrupt = options.training = options.repeat = true;
  options.shuffle_buffer = 0;
  const Dataset data = numbers(options);
  ThreadPool pool(2);
  Ring ring(data, 3);
  auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const std::vector<int64_t>& expected : {std::vector<int64_t>{0, 3, 3, 3}, {4, 5, 6, 4}}) {
      const Batch batch = pipeline->next().take();
      EXPECT_EQ(std::vector<int64_t>(ring.get<int64_t>(batch.slot, 0), ring.get<int64_t>(batch.slot, 0) + 4), expected);
      for (int64_t row = 0; row < 4; ++row)
        EXPECT_EQ(pipeline->position(batch, row), expected[static_cast<size_t>(row)]);
      pipeline->release(batch.slot);
    }
  EXPECT_EQ(pipeline->corrupt_records(), 3) << "a record counts once, however often it comes";
}

TEST(InputPipeline, ABatchOfDamagedRecordsOnlyIsAnError) {
  TemporaryDirectory directory;
  write_numbers(directory, {4});
  for (int record : {0, 1, 2, 3}) damage(shard_path(directory, "train", 0, 1), record);
  InputOptions options = numbers_in(directory);
  options.skip_corrupt = options.training = true;
  const Dataset data = numbers(options);
  ThreadPool pool(1);
  Ring ring(data, 1);
  const Status status = InputPipeline::create(data, pool, ring.slots).take()->next().status();
  EXPECT_EQ(status.message().find("all 4 records of a batch are damaged; the first: " + directory.path()), 0u)
      << status.message();
}

TEST(InputPipeline, BrokenFramingEndsTheFileOrIsAnError) {
  TemporaryDirectory directory;
  write_numbers(directory, {6, 4});
  const std::string path = shard_path(directory, "train", 0, 2);
  damage(path, 3, 9);  // the checksum of the length
  InputOptions options = numbers_in(directory);
  EXPECT_EQ(Dataset::from_records(options, number_specs(), read_number).status().message(),
            path + ": record at offset 72: checksum of the length: " +
                expected_found(checksum(eight_bytes(8)), checksum(eight_bytes(8)) ^ 1 << 8));
  options.skip_corrupt = true;
  const Dataset data = numbers(options);
  EXPECT_EQ(sorted(read_all(data).numbers()), (std::vector<int64_t>{0, 1, 2, 6, 7, 8, 9}));
  ThreadPool pool(1);
  Ring ring(data, 1);
  const auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
  EXPECT_EQ(pipeline->corrupt_records(), 1);
  EXPECT_EQ(pipeline->lost(), std::vector<std::string>{"the rest of " + path + " is lost, 72 bytes from offset 72 on"});
}

TEST(InputPipeline, ATruncatedFileIsAnErrorAtEveryLength) {
  TemporaryDirectory whole;
  write_numbers(whole, {3});
  const std::string bytes = whole.read("train-00000-of-00001");
  for (size_t length = 0; length < bytes.size(); ++length) {
    TemporaryDirectory directory;
    directory.write("train-00000-of-00001", bytes.substr(0, length));
    InputOptions options = numbers_in(directory);
    const Status status = Dataset::from_records(options, number_specs(), read_number).status();
    EXPECT_EQ(status.ok(), length == 24 || length == 48) << length << ": " << status.message();
    options.skip_corrupt = true;
    const auto data = Dataset::from_records(options, number_specs(), read_number);
    EXPECT_EQ(data.ok() ? data->size() : 0, static_cast<int64_t>(length / 24));
  }
}

TEST(InputPipeline, AnAbsurdLengthWithAValidChecksumIsAnError) {
  // Lengths whose checksum RecordWriter would have written.
  for (uint64_t length : {uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0}}) {
    TemporaryDirectory directory;
    std::string frame(reinterpret_cast<const char*>(&length), 8);
    const uint32_t masked = checksum(frame);
    frame.append(reinterpret_cast<const char*>(&masked), 4);
    frame.append(100, 'x');
    directory.write("train-00000-of-00001", frame);
    EXPECT_EQ(Dataset::from_records(numbers_in(directory), number_specs(), read_number).status().message(),
              directory / "train-00000-of-00001" + ": record at offset 0: cut short: expected " +
                  std::to_string(length) + " bytes of data, found 100");
  }
}

TEST(InputPipeline, AMapFunctionThatThrowsIsAnErrorNotTheEnd) {
  TemporaryDirectory directory;
  write_numbers(directory, {4});
  const Dataset data = Dataset::from_records(numbers_in(directory), number_specs(),
                                             [](std::string_view, const Sample&, Slots&) -> Status {
                                               throw std::runtime_error("no such word");
                                             })
                           .take();
  ThreadPool pool(2);
  Ring ring(data, 1);
  EXPECT_EQ(InputPipeline::create(data, pool, ring.slots).take()->next().status().message(),
            directory / "train-00000-of-00001" + ": record at offset 0: the map function threw: no such word");
}

// Options

std::string options_error(const InputOptions& options) {
  return Dataset::from_records(options, number_specs(), read_number).status().message();
}

TEST(Dataset, MissingFilesAreNamed) {
  TemporaryDirectory directory;
  InputOptions options = numbers_in(directory);
  EXPECT_EQ(options_error(options), "no files match " + directory.path() + "/train-*");
  options.data_dir = directory / "nowhere";
  EXPECT_EQ(options_error(options), directory / "nowhere" + ": No such file or directory");
  options.data_dir = directory.write("file", "");
  EXPECT_EQ(options_error(options), directory / "file" + ": not a directory");
  options.file_pattern = directory / "*.rec";
  EXPECT_EQ(options_error(options), "no files match " + directory.path() + "/*.rec");
  EXPECT_EQ(options_error({}), "no input files: set data_dir and split, or file_pattern");
}

TEST(Dataset, AMissingShardIsNoticed) {
  TemporaryDirectory directory;
  write_numbers(directory, {3, 3, 3});
  std::filesystem::remove(shard_path(directory, "train", 1, 3));
  EXPECT_EQ(options_error(numbers_in(directory)),
            directory.path() + "/train-*: expected 3 files as their names say, found 2");
  write_numbers(directory, {3});
  EXPECT_NE(options_error(numbers_in(directory)).find("mixes two sets of shards"), std::string::npos);
}

TEST(Dataset, FilesOfAnUnfinishedConversionAreNotRead) {
  TemporaryDirectory directory;
  write_numbers(directory, {3});
  directory.write(".train-00000-of-00001.tmp-12-0", "half");
  directory.write("train-00000-of-00001.tmp", "half");
  EXPECT_EQ(numbers(numbers_in(directory)).size(), 3);
}

TEST(Dataset, ABatchLargerThanTheDataIsAnError) {
  TemporaryDirectory directory;
  write_numbers(directory, {60, 40});
  InputOptions options = numbers_in(directory);
  options.batch_size = 512;
  EXPECT_EQ(numbers(options).batches(), 1) << "evaluation can take a partial batch";
  options.training = true;
  EXPECT_EQ(options_error(options),
            "batch size 512 is larger than the 100 examples in " + directory.path() + "/train-*");
  options.batch_size = 64;
  options.shard_count = 2;
  EXPECT_EQ(options_error(options),
            "batch size 64 is larger than the 60 examples in " + directory.path() + "/train-* (shard 0 of 2)");
}

TEST(Dataset, NoRecordsIsAnError) {
  TemporaryDirectory directory;
  write_numbers(directory, {0, 0});
  EXPECT_EQ(options_error(numbers_in(directory)), "no examples in " + directory.path() + "/train-*");
}

TEST(Dataset, GzipIsRefusedByName) {
  TemporaryDirectory directory;
  auto writer = RecordWriter::create(shard_path(directory, "train", 0, 1), Compression::kGzip).take();
  for (int i = 0; i < 100; ++i) check(writer.write("record"));
  check(writer.close());
  EXPECT_EQ(options_error(numbers_in(directory)),
            directory / "train-00000-of-00001" + ": compressed with gzip; unpack it first");
}

TEST(Dataset, BadOptionsAreRefused) {
  TemporaryDirectory directory;
  write_numbers(directory, {10});
  const auto error = [&](auto change) {
    InputOptions options = numbers_in(directory);
    change(options);
    return options_error(options);
  };
  EXPECT_EQ(error([](InputOptions& o) { o.batch_size = 0; }), "batch size: expected at least 1, found 0");
  EXPECT_EQ(error([](InputOptions& o) { o.shard_index = 2, o.shard_count = 2; }),
            "input shard: expected 0 <= index < count, found index 2 of 2");
  EXPECT_NE(error([](InputOptions& o) { o.interleave = 0; }), "");
  EXPECT_NE(error([](InputOptions& o) { o.prefetch = -1; }), "");
}

TEST(Dataset, MemoryFeaturesMustAgree) {
  const std::vector<float> x(6);
  const std::vector<int32_t> y(4);
  const auto error = [](std::vector<MemoryFeature> features) {
    return Dataset::from_memory(std::move(features), {}).status().message();
  };
  EXPECT_EQ(error({memory_feature<float>("x", DType::kF32, {2}, x), memory_feature<int32_t>("y", DType::kI32, {}, y)}),
            "feature 'y' has 4 examples, 'x' has 3");
  EXPECT_EQ(error({memory_feature<float>("x", DType::kF32, {4}, x)}),
            "feature 'x': 24 bytes are no multiple of the 16 of f32[4]");
  EXPECT_EQ(error({}), "a dataset needs at least one feature");
  EXPECT_EQ(error({memory_feature<int32_t>("y", DType::kI32, {}, y), memory_feature<int32_t>("y", DType::kI32, {}, y)}),
            "feature 'y' is there twice");
  EXPECT_EQ(error({memory_feature<int32_t>("y", DType::kI32, {}, std::vector<int32_t>{})}), "no examples in memory");
}

TEST(InputPipeline, SlotsMustFitTheDataset) {
  const std::vector<int32_t> y(4);
  InputOptions options;
  options.batch_size = 2;
  const Dataset data = Dataset::from_memory({memory_feature<int32_t>("y", DType::kI32, {}, y)}, options).take();
  ThreadPool pool(1);
  const auto error = [&](std::vector<BatchSlot> slots) {
    return InputPipeline::create(data, pool, std::move(slots)).status().message();
  };
  EXPECT_EQ(error({}), "an input pipeline needs at least one slot");
  EXPECT_EQ(error({{}}), "an input slot has 0 pointers, the dataset has 1 features");
  EXPECT_EQ(error({{{nullptr}}}), "an input slot has a null pointer");
}

// What stands in a directory's name is no pattern, nor what stands in the name of a file that is there.
TEST(InputFiles, DirectoriesAndFilesMayHaveAnyName) {
  for (const std::string name : {"run[1]", "a*", "b?", "c\\"}) {
    TemporaryDirectory directory;
    std::filesystem::create_directory(directory / name);
    InputOptions options = numbers_in(directory);
    options.data_dir = directory / name;
    auto writer = RecordWriter::create(options.data_dir + "/train-00000-of-00001").take();
    check(writer.write("12345678"));
    check(writer.close());
    EXPECT_EQ(numbers(options).size(), 1) << name;
    options.data_dir.clear();
    options.file_pattern = directory / name + "/train-*";
    EXPECT_EQ(numbers(options).size(), 1) << name;
    std::filesystem::rename(directory / name + "/train-00000-of-00001", directory / name + "/" + name);
    options.file_pattern = directory / name + "/" + name;
    EXPECT_EQ(numbers(options).size(), 1) << name;
    options.file_pattern =
        directory.path() + "/[" + name[0] + "]*/*";  // directories as patterns, as the shell has them
    EXPECT_EQ(numbers(options).size(), 1) << name;
  }
}

TEST(InputFiles, PipesAndDevicesAreNamedAtOnce) {
  TemporaryDirectory directory;
  const std::string path = directory / "train-00000-of-00001";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Dataset::from_records(numbers_in(directory), number_specs(), read_number).status().message(),
            "cannot read '" + path + "': expected a regular file, found a device or pipe");
  InputOptions options = numbers_in(directory);
  options.file_pattern = "/dev/zero";
  EXPECT_EQ(Dataset::from_records(options, number_specs(), read_number).status().message(),
            "cannot read '/dev/zero': expected a regular file, found a device or pipe");
}

}  // namespace
}  // namespace tenon
