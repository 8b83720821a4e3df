// Memory that runs out at any allocation of the input pipeline, in any of its threads; and records that claim to be larger
// than any memory.
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/crc32c.h"
#include "unit/data/input_testing.h"

namespace {

// How many allocations, in all threads, may still succeed; below 0: any number. `for_good`: after one fails, all do.
std::atomic<int64_t> allocations_left{-1};
std::atomic<bool> for_good{false};
std::atomic<int64_t> allocations_refused{0};

bool refused() {
  int64_t left = allocations_left.load();
  while (left >= 0) {
    const int64_t after = left > 0 ? left - 1 : for_good ? 0 : -1;
    if (!allocations_left.compare_exchange_weak(left, after)) continue;
    if (left == 0) ++allocations_refused;
    return left == 0;
  }
  return false;
}

void* allocate_or_null(size_t bytes) noexcept { return refused() ? nullptr : std::malloc(bytes ? bytes : 1); }
void* allocate(size_t bytes) {
  if (void* p = allocate_or_null(bytes)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }

namespace tenon {
namespace {

struct AllocationLimit {
  AllocationLimit(int64_t n, bool rest) {
    for_good = rest;
    allocations_refused = 0;
    allocations_left = n;
  }
  ~AllocationLimit() { allocations_left = -1; }
};

// With all the memory that the test itself needs.
Status copied(const Status& status) {
  allocations_left = -1;
  return status;
}

// Reads two epochs; the memory of the batches is there already.
Status read_two_epochs(const InputOptions& options, const std::vector<FeatureSpec>& specs, Ring& ring,
                       ThreadPool& pool) {
  // Copies of the caller's are not the pipeline's.
  int64_t left = allocations_left.exchange(-1);
  InputOptions own = options;
  std::vector<FeatureSpec> own_specs = specs;
  MapFn map = read_number;
  std::vector<BatchSlot> slots = ring.slots;
  allocations_left = left;
  Result<Dataset> data = Dataset::from_records(std::move(own), std::move(own_specs), std::move(map), &pool);
  if (!data.ok()) return copied(data.status());
  auto pipeline = InputPipeline::create(*data, pool, std::move(slots));
  if (!pipeline.ok()) return copied(pipeline.status());
  for (int i = 0; i < 8; ++i) {
    const Result<Batch> batch = (*pipeline)->next();
    if (!batch.ok()) return copied(batch.status());
    (*pipeline)->release(batch->slot);
  }
  return {};
}

// With ever more allocations that succeed, until all do.
void run_out_everywhere(bool rest, int threads, bool transposed) {
  TemporaryDirectory directory;
  write_numbers(directory, {9, 8});
  InputOptions options = numbers_in(directory);
  options.training = options.repeat = options.drop_remainder = true;
  std::vector<FeatureSpec> specs = number_specs();
  specs[1].batch_minor = transposed;
  ThreadPool pool(threads);
  Ring ring(Dataset::from_records(options, specs, read_number).take(), 3);
  ASSERT_TRUE(read_two_epochs(options, specs, ring, pool).ok());  // what a thread keeps for ever is there
  int64_t n = 0, errors = 0;
  for (;; ++n) {
    const AllocationLimit limit(n, rest);
    const Status status = read_two_epochs(options, specs, ring, pool);
    allocations_left = -1;
    if (allocations_refused == 0) break;
    // An optional allocation may be refused without harm: a task that cannot be given away is run at once.
    errors += !status.ok();
    ASSERT_TRUE(status.ok() || status.code() == Code::kOutOfMemory) << status.message() << " at " << n;
    ASSERT_LT(n, 10'000);
  }
  EXPECT_GT(errors, 30) << "of " << n;
}

TEST(InputMemory, RunningOutOnceEndsInAnErrorOrInAllBatches) {
  run_out_everywhere(false, 1, false);
  run_out_everywhere(false, 3, true);
}

TEST(InputMemory, RunningOutForGoodEndsInAnError) {
  run_out_everywhere(true, 1, true);
  run_out_everywhere(true, 3, false);
}

// The head of a record is sound and the file is as long as it says, but has no blocks.
std::string sparse_record(const TemporaryDirectory& directory, uint64_t length) {
  const std::string path = shard_path(directory, "train", 0, 1);
  char head[12];
  std::memcpy(head, &length, 8);
  const uint32_t crc = crc32c_mask(crc32c(head, 8));
  std::memcpy(head + 8, &crc, 4);
  directory.write("train-00000-of-00001", std::string(head, 12));
  std::filesystem::resize_file(path, length + 16);
  return path;
}

TEST(InputMemory, ARecordOfEightTerabytesIsRefusedByFileAndOffset) {
  TemporaryDirectory directory;
  const std::string path = sparse_record(directory, uint64_t{8} << 40);
  InputOptions options = numbers_in(directory);
  options.batch_size = 1;
  EXPECT_EQ(Dataset::from_records(options, number_specs(), read_number).status().message(),
            path + ": record at offset 0: length: expected at most 1073741824 bytes of data, found 8796093022208");
  options.skip_corrupt = true;
  EXPECT_EQ(Dataset::from_records(options, number_specs(), read_number).status().message(),
            "no examples in " + directory.path() + "/train-*; the rest of " + path + " is lost, " +
                std::to_string(std::filesystem::file_size(path)) + " bytes from offset 0 on");
  RecordReader reader = RecordReader::open(path).take();
  std::string_view record;
  EXPECT_EQ(reader.next(&record).status().message(),
            "'" + path +
                "' at byte 0: a record's length exceeds the limit, at most: expected 1073741824, found 8796093022208");
}

// Allowed, and yet more than there is: the step ends with the record's place, nothing waits.
TEST(InputMemory, ARecordForWhichThereIsNoMemoryIsAnErrorOfItsPlace) {
  TemporaryDirectory directory;
  write_numbers(directory, {1});
  InputOptions options = numbers_in(directory);
  options.batch_size = 1;
  const auto map = [](std::string_view, const Sample&, Slots&) -> Status { throw std::bad_alloc(); };
  const Dataset data = Dataset::from_records(options, number_specs(), map).take();
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    Ring ring(data, 2);
    auto pipeline = InputPipeline::create(data, pool, ring.slots).take();
    const Status status = pipeline->next().status();
    EXPECT_EQ(status.code(), Code::kOutOfMemory);
    EXPECT_EQ(status.message(), directory / "train-00000-of-00001" + ": record at offset 0: out of memory");
    EXPECT_EQ(pipeline->next().status().message(), status.message());
  }
}

}  // namespace
}  // namespace tenon
