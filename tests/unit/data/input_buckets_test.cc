// Batches of records of about one length.
#include <set>

#include "unit/data/input_testing.h"

namespace tenon {
namespace {

constexpr int64_t kLongest = 12;

// Record n has 1 + n % 15 elements, each n: what is longer than kLongest has no bucket.
Result<int64_t> length_of(std::string_view record) {
  int64_t n = 0;
  std::memcpy(&n, record.data(), sizeof n);
  return 1 + n % 15;
}

Status read_elements(std::string_view record, const Sample&, Slots& out) {
  const auto row = out.get<int64_t>(0);
  int64_t n = 0;
  std::memcpy(&n, record.data(), sizeof n);
  const auto length = static_cast<size_t>(length_of(record).take());
  if (length > row.size()) return Status(Code::kInternal, "the bucket is too short");
  std::fill(row.begin(), row.end(), -1);
  std::fill_n(row.begin(), length, n);
  return {};
}

Result<Dataset> bucketed(const TemporaryDirectory& directory, InputOptions options = {}) {
  InputOptions o = numbers_in(directory);
  o.training = o.repeat = o.drop_remainder = true;
  o.batch_size = 4;
  o.seed = 5;
  o.buckets = {{3, 8, kLongest}, 2, length_of};
  if (!options.buckets.boundaries.empty()) o.buckets = options.buckets;
  if (options.batch_size != InputOptions().batch_size) o.batch_size = options.batch_size;
  return Dataset::from_records(o, {{"elements", {DType::kI64, {kLongest}}}}, read_elements);
}

struct Seen {
  int bucket;
  std::vector<int64_t> numbers;
  uint64_t end;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> batches(const Dataset& data, int count, int threads, PipelineState from = {}) {
  ThreadPool pool(threads);
  Ring ring(data, 3);
  const auto pipeline = InputPipeline::create(data, pool, ring.slots, from).take();
  std::vector<Seen> out;
  for (int i = 0; i < count; ++i) {
    const Batch batch = pipeline->next().take();
    const int64_t length = data.specs(batch.bucket)[0].type.shape[0];
    Seen seen{batch.bucket, {}, batch.end_sample};
    for (int64_t row = 0; row < batch.rows; ++row) {
      const int64_t* elements = ring.get<int64_t>(batch.slot, 0) + row * length;
      seen.numbers.push_back(elements[0]);
      const int64_t own = 1 + elements[0] % 15;
      for (int64_t e = 0; e < length; ++e) EXPECT_EQ(elements[e], e < own ? elements[0] : -1) << "row " << row;
    }
    out.push_back(seen);
    pipeline->release(batch.slot);
  }
  return out;
}

// 4 rows of 12 elements are 6 of 8 and 16 of 3.
TEST(Buckets, HaveAsManyRowsAsTheirElementsAllow) {
  const TemporaryDirectory directory;
  write_numbers(directory, {150, 150});
  for (const Seen& batch : batches(bucketed(directory).take(), 40, 2)) {
    EXPECT_EQ(batch.numbers.size(), (std::vector<size_t>{16, 6, 4})[static_cast<size_t>(batch.bucket)]);
    for (const int64_t n : batch.numbers) {
      const int64_t length = 1 + n % 15;
      EXPECT_EQ(batch.bucket, length <= 3 ? 0 : length <= 8 ? 1 : 2) << n;
    }
  }
}

// 240 of 300 records fit. After ten epochs each was seen nine to eleven times: what waits in a bucket is seen with the next.
TEST(Buckets, DeliverEachExampleOnceAnEpoch) {
  const TemporaryDirectory directory;
  write_numbers(directory, {150, 150});
  const Dataset data = bucketed(directory).take();
  EXPECT_EQ(data.left_out(), 60);
  std::map<int64_t, int> times;
  size_t examples = 0;
  for (const Seen& batch : batches(data, 500, 2)) {
    if (examples >= 2400) break;
    examples += batch.numbers.size();
    for (const int64_t n : batch.numbers) ++times[n];
  }
  EXPECT_EQ(times.size(), 240u);
  for (const auto& [n, count] : times) EXPECT_TRUE(count >= 9 && count <= 11) << n << " " << count << " times";
}

TEST(Buckets, AreTheSameForAnyNumberOfThreadsAndFromAnyBatchOn) {
  const TemporaryDirectory directory;
  write_numbers(directory, {150, 150});
  const Dataset data = bucketed(directory).take();
  const std::vector<Seen> all = batches(data, 60, 1);
  EXPECT_EQ(batches(data, 60, 4), all);
  for (const int from : {1, 17, 42}) {
    const PipelineState state{all[static_cast<size_t>(from) - 1].end, data.fingerprint(), data.data_fingerprint()};
    EXPECT_EQ(batches(data, 60 - from, 2, state), std::vector<Seen>(all.begin() + from, all.end())) << from;
  }
}

TEST(Buckets, SayWhatDoesNotFit) {
  const TemporaryDirectory directory;
  write_numbers(directory, {30});
  InputOptions o;
  o.buckets = {{8, 3}, 1, length_of};
  EXPECT_EQ(bucketed(directory, o).status().message(),
            "boundaries of buckets: expected fewer than 255 rising lengths from 1 on");
  o.buckets = {{3, 8}, 1, length_of};
  EXPECT_EQ(bucketed(directory, o).status().message(),
            "feature 'elements' is i64[12], expected the last boundary 8 along its first axis");
  o.buckets = {{3, kLongest}, 3, length_of};
  EXPECT_EQ(bucketed(directory, o).status().message(), "rows_divide_by is 3, expected a divisor of the batch size 4");
  o.buckets = {{3, kLongest}, 1, [](std::string_view) -> Result<int64_t> { return Status(Code::kInvalid, "no length"); }};
  EXPECT_EQ(bucketed(directory, o).status().message(),
            directory.path() + "/train-00000-of-00001: record at offset 0: no length");
}

// TensorFlow's Transformer with max_length 64 has these (its _create_min_max_boundaries with the last one replaced).
TEST(Buckets, HaveTheBoundariesOfTheTransformer) {
  EXPECT_EQ(length_boundaries(25), (std::vector<int64_t>{8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 25}));
}

// Without buckets: what is not wanted is no example, for training and for evaluation.
TEST(Records, AreLeftOutAndCountedWhereTheyAreNotWanted) {
  const TemporaryDirectory directory;
  write_numbers(directory, {150, 150, 3});
  InputOptions o = numbers_in(directory);
  o.batch_size = 10;
  o.keep = [](std::string_view record) -> Result<bool> {
    TENON_ASSIGN(const int64_t length, length_of(record));
    return length <= kLongest;
  };
  const std::vector<FeatureSpec> specs{{"elements", {DType::kI64, {kLongest}}}};
  for (const bool training : {false, true}) {
    o.training = o.repeat = o.drop_remainder = training;
    const Dataset data = Dataset::from_records(o, specs, read_elements).take();
    EXPECT_EQ(data.left_out(), 60);  // of 303, those whose n % 15 is 12, 13 or 14
    EXPECT_EQ(data.size(), 243);
    std::vector<int64_t> seen;
    for (const Seen& batch : batches(data, 24, 2)) seen.insert(seen.end(), batch.numbers.begin(), batch.numbers.end());
    EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), 240u);
  }
  o.keep = [](std::string_view) -> Result<bool> { return false; };
  const Status none = Dataset::from_records(o, specs, read_elements).status();
  EXPECT_EQ(none.message(), directory.path() + "/train-*: all 303 records are left out");
  o.keep = [](std::string_view) -> Result<bool> { return Status(Code::kInvalid, "is odd"); };
  EXPECT_NE(Dataset::from_records(o, specs, read_elements).status().message().find("record at offset 0: is odd"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
