// Row 14: TFRecord files with every byte flipped, cut everywhere, and with lengths that lie under a valid checksum.
//   trust_records SECONDS
// What must be seen is computed from where the damage lies, not asked of the reader. Files of other sizes are tried, by
// seeds 1, 2, ..., until the time is over.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>

#include "base/crc32c.h"
#include "base/process/thread_pool.h"
#include "tenon/input.h"
#include "tenon/tfrecord.h"
#include "unit/data/temporary_directory.h"

using namespace tenon;

namespace {

using Records = std::vector<std::string>;

struct Case {
  std::string bytes;
  size_t good_before;   // records that stand before the damage
  bool rest_is_lost;    // nothing after the damage can be found
  bool damaged = true;  // false: cut between two records
  size_t counted = 1;   // how many damages a reader that skips them meets
};

struct Totals {
  uint64_t cases = 0, failed = 0, silent = 0;
};

std::string number_bytes(uint64_t value, size_t bytes) { return {reinterpret_cast<const char*>(&value), bytes}; }

std::string frame_head(uint64_t length) {
  const std::string bytes = number_bytes(length, 8);
  return bytes + number_bytes(crc32c_mask(crc32c(bytes)), 4);
}

std::string frame(const std::string& data) {
  return frame_head(data.size()) + data + number_bytes(crc32c_mask(crc32c(data)), 4);
}

Records make_records(uint64_t seed) {
  std::mt19937_64 random(seed);
  Records records;
  for (int i = 0; i < 6; ++i) {
    std::string data(i == 2 ? 0 : 1 + random() % 24, '\0');  // one is empty
    for (char& c : data) c = static_cast<char>(random());
    records.push_back(data);
  }
  return records;
}

std::vector<Case> cases_of(const Records& records) {
  std::string file;
  std::vector<size_t> begins;
  for (const std::string& data : records) begins.push_back(file.size()), file += frame(data);
  begins.push_back(file.size());
  std::vector<Case> out;
  for (size_t k = 0; k < records.size(); ++k)
    for (size_t at = begins[k]; at < begins[k + 1]; ++at) {
      for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
        std::string bad = file;
        bad[at] = static_cast<char>(bad[at] ^ flip);
        out.push_back({bad, k, at < begins[k] + 12});
      }
      out.push_back({file.substr(0, at), k, true, at != begins[k]});
    }
  for (size_t k = 0; k < records.size(); ++k)
    for (const uint64_t length : {uint64_t{0}, uint64_t{1} << 31, uint64_t{1} << 63, ~uint64_t{0}}) {
      if (length == records[k].size()) continue;
      std::string bad = file;
      bad.replace(begins[k], 12, frame_head(length));
      // A record of no bytes has its checksum where the data were; behind that no frame begins.
      out.push_back({bad, k, true, true, length == 0 ? size_t{2} : size_t{1}});
    }
  return out;
}

// The records that are not damaged.
Records expected_of(const Records& all, const Case& c) {
  Records out(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(c.good_before));
  if (!c.rest_is_lost) out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(c.good_before) + 1, all.end());
  return out;
}

struct Seen {
  Records records;
  Status status;
  uint64_t skipped = 0;
  bool ended = true;
};

Seen read_all(RecordReader& reader, size_t bytes) {
  Seen seen;
  std::string_view record;
  for (size_t calls = 0;; ++calls) {
    if (calls > bytes) return seen.ended = false, seen;  // a loop: a record takes 16 bytes at least
    Result<bool> more = reader.next(&record);
    seen.status = more.status();
    seen.skipped = reader.skipped();
    if (!more.ok() || !*more) return seen;
    seen.records.emplace_back(record);
  }
}

Seen read_memory(const Case& c, bool skip, bool checksums) {
  RecordReaderOptions options;
  options.skip_corrupt = skip;
  options.verify_checksums = checksums;
  RecordReader reader = RecordReader::from_memory(c.bytes, "FILE", options).take();
  return read_all(reader, c.bytes.size());
}

bool names_place(const std::string& message, const std::string& file) {
  const size_t at = message.find("byte ");
  const size_t offset = at == std::string::npos ? message.find("at offset ") : at;
  return message.find(file) != std::string::npos && offset != std::string::npos &&
         message.find('\n') == std::string::npos;
}

// Why the reader of whole files is wrong; "" when it is right.
std::string judge(const Records& all, const Case& c) {
  const Records before(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(c.good_before));
  const Seen strict = read_memory(c, false, true);
  if (!strict.ended) return "strict: never ends";
  if (strict.records != before) return "strict: other records than those before the damage";
  if (strict.status.ok() == c.damaged)
    return "strict: " + (c.damaged ? std::string("no error") : strict.status.message());
  if (c.damaged && !names_place(strict.status.message(), "FILE")) return "strict: no place: " + strict.status.message();
  const Seen skip = read_memory(c, true, true);
  if (!skip.ended) return "skip: never ends";
  if (!skip.status.ok()) return "skip: " + skip.status.message();
  if (skip.records != expected_of(all, c)) return "skip: other records than the undamaged ones";
  if (skip.skipped != (c.damaged ? c.counted : 0)) return "skip: counts " + std::to_string(skip.skipped);
  return "";
}

// The same of the input pipeline, which reads files at random.
std::string judge_pipeline(const Records& all, const Case& c, const TemporaryDirectory& directory, ThreadPool& pool) {
  const std::string path = directory.write("train-00000-of-00001", c.bytes);
  const MapFn map = [](std::string_view record, const Sample&, Slots& out) -> Status {
    const auto row = out.get<uint8_t>(0);
    std::fill(row.begin(), row.end(), uint8_t{0});
    row[0] = static_cast<uint8_t>(record.size());
    std::memcpy(row.data() + 1, record.data(), std::min(record.size(), row.size() - 1));
    return {};
  };
  for (const bool skip : {false, true}) {
    InputOptions options;
    options.data_dir = directory.path(), options.split = "train", options.batch_size = 4, options.skip_corrupt = skip;
    Result<Dataset> data = Dataset::from_records(options, {{"record", {DType::kU8, {32}}}}, map, &pool);
    const Records expected = expected_of(all, c);
    Records records;
    Status status = data.status();
    int64_t counted = 0;
    if (data.ok()) {
      std::vector<uint8_t> memory(3 * 4 * 32);
      std::vector<BatchSlot> slots;
      for (size_t i = 0; i < 3; ++i) slots.push_back({{memory.data() + i * 4 * 32}});
      const auto pipeline = InputPipeline::create(*data, pool, slots).take();
      for (size_t calls = 0;; ++calls) {
        if (calls > 100) return "pipeline: never ends";
        Result<Batch> batch = pipeline->next();
        status = batch.status();
        if (!batch.ok() || batch->end()) break;
        for (int64_t row = 0; row < batch->rows; ++row) {
          const uint8_t* at = memory.data() + (static_cast<size_t>(batch->slot) * 4 + static_cast<size_t>(row)) * 32;
          records.emplace_back(reinterpret_cast<const char*>(at) + 1, at[0]);
        }
        pipeline->release(batch->slot);
      }
      counted = pipeline->corrupt_records();
    }
    if (!skip) {
      if (status.ok() && c.damaged) return "pipeline, strict: no error";
      if (c.damaged && !names_place(status.message(), path)) return "pipeline, strict: no place: " + status.message();
      continue;
    }
    if (expected.empty()) {
      if (status.ok() && !records.empty()) return "pipeline, skip: records where none are good";
      continue;
    }
    if (!status.ok()) return "pipeline, skip: " + status.message();
    if (records != expected) return "pipeline, skip: other records than the undamaged ones";
    if (counted != static_cast<int64_t>(c.damaged ? c.counted : 0))
      return "pipeline, skip: counts " + std::to_string(counted);
  }
  return "";
}

// Without checksums: whether other records came, and nobody said so.
bool silently_different(const Records& all, const Case& c) {
  const Seen seen = read_memory(c, false, false);
  return seen.status.ok() && seen.records != all && c.damaged;
}

void run_seed(uint64_t seed, Totals& totals) {
  const Records all = make_records(seed);
  const TemporaryDirectory directory;
  ThreadPool pool(2);
  for (const Case& c : cases_of(all)) {
    std::string why = judge(all, c);
    if (why.empty()) why = judge_pipeline(all, c, directory, pool);
    totals.silent += silently_different(all, c);
    if (!why.empty() && totals.failed++ < 20)
      std::fprintf(stderr, "row 14: seed %lu, case %lu: %s\n", seed, totals.cases, why.c_str());
    ++totals.cases;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s SECONDS\n", argv[0]), 2;
  const double seconds = std::atof(argv[1]);
  ::alarm(static_cast<unsigned>(seconds) * 2 + 60);  // a reader that hangs
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  Totals totals;
  uint64_t seed = 0;
  do run_seed(++seed, totals);
  while (passed() * static_cast<double>(seed + 1) / static_cast<double>(seed) < seconds * 0.9);
  const bool caught = totals.silent > 0;
  std::printf(
      "row 14: malformed TFRecords are named, or skipped and counted exactly | asked: every byte flipped, cut "
      "everywhere, "
      "lengths 0, 2^31, 2^63, 2^64-1; 0 wrong | seen: %lu files (seeds 1 to %lu), read whole and by the input "
      "pipeline, "
      "strict and skipping: %lu wrong | control: checksums not verified, %lu files then differ without a word\n",
      totals.cases, seed, totals.failed, totals.silent);
  return totals.failed == 0 && caught ? 0 : 1;
}
