// Records that are damaged, cut short or absurd, and functions that throw.
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "unit/data/input_testing.h"

namespace tenon {
namespace {

// Flips the last data byte of record `record` of a file of 8-byte records (24 bytes a frame).
void damage(const std::string& path, int record, int byte = 19) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(record * 24 + byte);
  const char c = static_cast<char>(file.get() ^ 1);
  file.seekp(record * 24 + byte);
  file.put(c);
}

// What RecordWriter would have written behind `data`: mask(crc32c(data)) of TFRecord, polynomial 0x82F63B78 bit by bit.
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
  const std::string lost = "the rest of " + path + " is lost, 72 bytes from offset 72 on";
  EXPECT_EQ(pipeline->lost(), std::vector<std::string>{lost});
  EXPECT_EQ(data.passed_over(), lost);
  // Why there are too few is part of the error.
  options.training = true;
  options.batch_size = 8;
  options.keep = [](std::string_view record) -> Result<bool> { return record[0] != 1; };
  EXPECT_EQ(Dataset::from_records(options, number_specs(), read_number).status().message(),
            "batch size 8 is larger than the 6 examples in " + directory.path() + "/train-*; " + lost + "; 1 record is left out");
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

}  // namespace
}  // namespace tenon
