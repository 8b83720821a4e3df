#include "data/record/shards.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/file/file.h"
#include "base/room.h"
#include "base/text.h"
#include "data/items.h"
#include "data/random_bits.h"
#include "data/record/record_format.h"
#include "tenon/text_file.h"

namespace tenon {
namespace {

constexpr uint32_t kRowStream = 0x726f7773;  // "rows"
constexpr size_t kBlockRows = 256;           // made at once, and no more bytes than
constexpr int64_t kBlockBytes = 64 << 20;    // where that is little of what is left

std::string shard_name(const std::string& split, size_t shard, size_t shards) {
  char suffix[64];
  std::snprintf(suffix, sizeof suffix, "-%05zu-of-%05zu", shard, shards);
  return split + suffix;
}

// The rows of shard s are begin[s] to begin[s + 1]: about equal bytes, in order.
std::vector<size_t> shard_begins(const std::vector<int64_t>& bytes, int64_t shard_bytes) {
  const int64_t total = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  const int64_t wanted = (total + shard_bytes / 2) / shard_bytes;
  const int64_t shards = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, static_cast<int64_t>(bytes.size())));
  std::vector<size_t> begins;
  int64_t before = 0;
  for (size_t row = 0; row < bytes.size(); before += bytes[row++])
    while (static_cast<int64_t>(begins.size()) < shards &&
           before >= total / shards * static_cast<int64_t>(begins.size()))
      begins.push_back(row);
  begins.resize(static_cast<size_t>(shards), bytes.size());
  begins.push_back(bytes.size());
  return begins;
}

// The end of a block of rows that starts at `begin`.
size_t block_end(const std::vector<int64_t>& bytes, size_t begin, size_t limit, int64_t most) {
  int64_t sum = bytes[begin];
  size_t end = begin + 1;
  while (end < limit && end - begin < kBlockRows && sum + bytes[end] <= most) sum += bytes[end++];
  return end;
}

struct Slot {
  ExampleBuilder builder;
  std::string_view record;
};

// Writes the good records of a block in order; the first bad one is the error.
Status write_block(const std::vector<Slot>& slots, const std::vector<Status>& made, bool skip_bad, RecordWriter& writer,
                   ConvertSummary::Split* split) {
  for (size_t i = 0; i < made.size(); ++i) {
    const Status& status = made[i];
    if (status.ok()) {
      TENON_TRY(writer.write(slots[i].record));
      ++split->records;
      split->bytes += static_cast<int64_t>(slots[i].record.size()) + kRecordHeader + kRecordFooter;
    } else if (skip_bad && status.code() == Code::kInvalid) {
      split->leave_out("bad_images", [&] { return status.message(); });
    } else {
      return status;
    }
  }
  return {};
}

}  // namespace

std::vector<size_t> shuffled(size_t n, uint64_t seed) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[scale_bits(philox_bits64(seed, kRowStream, 0, i), i)]);
  return order;
}

Result<OutputSet> OutputSet::create(const ConvertOptions& options) {
  if (options.shard_bytes < 1)
    return invalid("convert: expected shards of at least 1 byte, found ", options.shard_bytes);
  TENON_ASSIGN(Generation generation, Generation::begin(options.output, options.overwrite));
  return OutputSet(options, std::move(generation));
}

// The rows from `begin` up to `end`.
Status OutputSet::write_shard(const SplitSource& source, size_t begin, size_t end, const std::string& name,
                              ThreadPool& pool, ConvertSummary::Split* split) {
  TENON_ASSIGN(const std::string path, generation_.add(name));
  TENON_ASSIGN(RecordWriter writer, RecordWriter::create(path));
  std::vector<Slot> slots(std::min(kBlockRows, end - begin));
  // A builder has its record three times.
  const int64_t most = std::min(kBlockBytes, static_cast<int64_t>(room_left() / 16));
  for (size_t row = begin, next; row < end; row = next) {
    next = block_end(source.bytes, row, end, most);
    if (options_.interrupted && options_.interrupted())
      return Status(Code::kInterrupted, cat("interrupted; '", options_.output, "' is as it was"));
    const std::vector<Status> made = for_each_item(&pool, next - row, [&](size_t i) -> Status {
      ItemRoom room;
      return room.run([&]() -> Status {
        (void)slots[i].builder.finish();  // what an item that failed left there
        slots[i].record = {};
        TENON_TRY(source.make(row + i, slots[i].builder));
        slots[i].record = slots[i].builder.finish();
        return {};
      });
    });
    TENON_TRY(write_block(slots, made, source.skip_bad, writer, split));
    for (Slot& slot : slots)
      if (slot.record.size() >= kRoomGranule) (void)std::exchange(slot, {});  // the next one there may be small
  }
  return writer.close();
}

Status OutputSet::write_split(const SplitSource& source, ThreadPool& pool, ConvertSummary::Split* split) {
  split->name = source.name;
  const std::vector<size_t> begins = shard_begins(source.bytes, options_.shard_bytes);
  const size_t shards = begins.size() - 1;
  for (size_t shard = 0; shard < shards; ++shard) {
    const std::string name = shard_name(source.name, shard, shards);
    TENON_TRY(generation_.as_asked(write_shard(source, begins[shard], begins[shard + 1], name, pool, split)));
    split->files.push_back(cat(options_.output, "/", name));
  }
  if (split->records == 0)
    return invalid(source.name, ": expected at least one good record, found none; the first is bad because ",
                   split->of("bad_images").first);
  return {};
}

Status OutputSet::write_records(const std::string& name, std::span<const std::string_view> records,
                                ConvertSummary::Split* split) {
  TENON_ASSIGN(const std::string path, generation_.add(name));
  const auto write = [&]() -> Status {
    TENON_ASSIGN(RecordWriter writer, RecordWriter::create(path));
    for (const std::string_view record : records) {
      TENON_TRY(writer.write(record));
      split->bytes += static_cast<int64_t>(record.size()) + kRecordHeader + kRecordFooter;
    }
    return writer.close();
  };
  TENON_TRY(generation_.as_asked(write()));
  split->files.push_back(cat(options_.output, "/", name));
  return {};
}

Status OutputSet::write_text(const std::string& name, std::string_view text) {
  TENON_ASSIGN(const std::string path, generation_.add(name));
  return generation_.as_asked(atomic_write(path, text));
}

Status OutputSet::commit() { return generation_.as_asked(generation_.commit()); }

Status write_labels_and_info(OutputSet& output, const ConvertSummary& summary, const std::string& more) {
  std::string labels;
  for (const std::string& label : summary.labels) labels += label + "\n";
  TENON_TRY(output.write_text("labels.txt", labels));
  std::string info = cat("{\"classes\": ", summary.labels.size(), more);
  for (const ConvertSummary::Split& split : summary.splits)
    info += cat(", \"", split.name, "\": {\"records\": ", split.records, ", \"shards\": ", split.files.size(), "}");
  return output.write_text("info.json", info + "}\n");
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  TENON_ASSIGN(std::vector<std::string> labels, read_text_lines(path));
  if (labels.size() < 2) return invalid("labels '", path, "': expected at least 2 labels, found ", labels.size());
  std::unordered_set<std::string_view> seen;
  for (const std::string& label : labels)
    if (!seen.insert(label).second)
      return invalid("labels '", path, "': label '", abbreviated(label), "' appears twice");
  return labels;
}

}  // namespace tenon
