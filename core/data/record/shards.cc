#include "data/record/shards.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <numeric>
#include <utility>

#include "base/file/file.h"
#include "base/process/job.h"
#include "base/room.h"
#include "base/strings.h"
#include "data/items.h"
#include "data/random_bits.h"
#include "data/record/record_format.h"
#include "tenon/processes.h"
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

// What a process that is done with the parts calls that.
std::string rank_name(int rank) { return cat("unit-process-", rank); }

Status expect_records(const ConvertSummary::Split& split) {
  if (split.records > 0) return {};
  return invalid(split.name, ": expected at least one good record, found none; the first is bad because ",
                 split.of("bad_images").first);
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

Result<OutputSet> OutputSet::create(const ConvertOptions& options, const std::function<JobText()>& job) {
  if (options.shard_bytes < 1)
    return invalid("convert: expected shards of at least 1 byte, found ", options.shard_bytes);
  OutputSet out(options);
  if (options.parts > 0) {
    if (options.part < 0 || options.part >= options.parts || options.merge || process_count() > 1)
      return invalid("convert: part ", options.part, " of ", options.parts, ", expected 0 to ", options.parts - 1,
                     ", made by one process");
    TENON_TRY(make_directories(options.output));
    TENON_ASSIGN(out.parts_, Parts::open(options, job().text(), Parts::Role::kPart));
    return out;
  }
  if (process_count() > 1 && !processes_have_met())
    return invalid("convert: this is process ", process_rank(), " of ", process_count(),
                   ", which have not met; call join_processes() first");
  TENON_TRY(as_first_does([&] { return out.lead(job); }));
  if (!is_first_process()) {
    TENON_ASSIGN(out.parts_, Parts::open(options, job().text(), Parts::Role::kHelps));
  }
  return out;
}

Status OutputSet::lead(const std::function<JobText()>& job) {
  TENON_ASSIGN(Generation generation, Generation::begin(options_.output, options_.overwrite));
  generation_.emplace(std::move(generation));
  const bool there = Parts::are_in(options_.output);
  if (options_.merge && !there)
    return invalid("output '", options_.output, "': expected parts of a conversion, found none; --part I/N makes them");
  if (!there && process_count() == 1) return {};
  TENON_ASSIGN(parts_, Parts::open(options_, job().text(), Parts::Role::kLeads));
  for (int rank = 1; rank < process_count(); ++rank) TENON_TRY(remove_file(parts_->path(rank_name(rank) + ".done")));
  return {};
}

Result<OutputSet> OutputSet::create_whole(const ConvertOptions& options) {
  if (options.parts > 0 || options.merge) return invalid("convert: this is done by one process, without parts");
  OutputSet out(options);
  TENON_ASSIGN(Generation generation, Generation::begin(options.output, options.overwrite));
  out.generation_.emplace(std::move(generation));
  if (Parts::are_in(options.output)) {  // of another conversion
    TENON_ASSIGN(Parts others, Parts::open(options, JobText("whole").text(), Parts::Role::kLeads));
    others.remove();
  }
  return out;
}

Result<std::string> OutputSet::place(const std::string& name) {
  if (parts_) return parts_->path(name);
  return generation_->add(name);
}

Status OutputSet::as_asked(const Status& error) const {
  return parts_ ? parts_->as_asked(error) : generation_->as_asked(error);
}

void OutputSet::add_file(const std::string& name, ConvertSummary::Split* split) {
  split->files.push_back(cat(options_.output, "/", name));
  if (parts_) made_.push_back(name);
}

Status OutputSet::failed(const Status& error) {
  if (error.ok() || !parts_ || is_part() || error.code() != Code::kInvalid) return error;
  if (process_count() == 1)
    parts_->remove();
  else
    parts_->give_up();  // others may be at them
  return error;
}

// The rows from `begin` up to `end`.
Status OutputSet::write_shard(const SplitSource& source, size_t begin, size_t end, const std::string& name,
                              ThreadPool& pool, ConvertSummary::Split* split) {
  TENON_ASSIGN(const std::string path, place(name));
  TENON_ASSIGN(RecordWriter writer, RecordWriter::create(path));
  std::vector<Slot> slots(std::min(kBlockRows, end - begin));
  // A builder has its record three times.
  const int64_t most = std::min(kBlockBytes, static_cast<int64_t>(room_left() / 16));
  for (size_t row = begin, next; row < end; row = next) {
    next = block_end(source.bytes, row, end, most);
    if (options_.interrupted && options_.interrupted()) return interrupted_status(options_);
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
  const std::vector<size_t> begins = shard_begins(source.bytes, options_.shard_bytes);
  const size_t shards = begins.size() - 1;
  for (size_t shard = 0; shard < shards; ++shard) {
    const std::string name = shard_name(source.name, shard, shards);
    TENON_TRY(as_asked(write_shard(source, begins[shard], begins[shard + 1], name, pool, split)));
    add_file(name, split);
  }
  return expect_records(*split);
}

// Each file is a unit.
Status OutputSet::share_splits(std::span<const SplitSource> sources, ThreadPool& pool,
                               std::span<ConvertSummary::Split> splits) {
  std::vector<std::vector<std::string>> names(sources.size());
  int64_t unit = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    const std::vector<size_t> begins = shard_begins(sources[s].bytes, options_.shard_bytes);
    for (size_t shard = 0; shard + 1 < begins.size(); ++shard, ++unit) {
      const std::string name = shard_name(sources[s].name, shard, begins.size() - 1);
      if (!may_make(unit)) continue;
      names[s].push_back(name);
      TENON_ASSIGN(const bool mine, parts_->claim(0, unit, name));
      if (!mine) continue;
      PartCounts made(1);
      TENON_TRY(as_asked(write_shard(sources[s], begins[shard], begins[shard + 1], name, pool, made.data())));
      TENON_TRY(parts_->finish(0, unit, name, made));
    }
  }
  for (size_t s = 0; s < sources.size(); ++s) {
    for (const std::string& name : names[s]) {
      TENON_TRY(parts_->wait_for(name));
      TENON_ASSIGN(const PartCounts counts, parts_->counts(name));
      for (const ConvertSummary::Split& made : counts) add_counts(made, &splits[s]);
      add_file(name, &splits[s]);
    }
    if (!is_part()) TENON_TRY(expect_records(splits[s]));
  }
  return {};
}

Status OutputSet::write_splits(std::span<const SplitSource> sources, ThreadPool& pool,
                               std::span<ConvertSummary::Split> splits) {
  if (parts_) return failed(share_splits(sources, pool, splits));
  for (size_t s = 0; s < sources.size(); ++s) TENON_TRY(write_split(sources[s], pool, &splits[s]));
  return {};
}

Status OutputSet::write_records(const std::string& name, std::span<const std::string_view> records,
                                ConvertSummary::Split* split) {
  TENON_ASSIGN(const std::string path, place(name));
  const auto write = [&]() -> Status {
    TENON_ASSIGN(RecordWriter writer, RecordWriter::create(path));
    for (const std::string_view record : records) {
      TENON_TRY(writer.write(record));
      split->bytes += static_cast<int64_t>(record.size()) + kRecordHeader + kRecordFooter;
    }
    return writer.close();
  };
  return as_asked(write());
}

Status OutputSet::write_text(const std::string& name, std::string_view text) {
  if (!generation_) return {};  // process 0 does it
  TENON_ASSIGN(const std::string path, generation_->add(name));
  return generation_->as_asked(atomic_write(path, text));
}

// Finished parts become part of what is shown; they stay where they are until it is, where that can be.
Status OutputSet::show_parts() {
  for (int rank = 1; rank < process_count(); ++rank) TENON_TRY(parts_->wait_for(rank_name(rank)));
  for (const std::string& name : made_) {
    TENON_ASSIGN(const std::string path, generation_->add(name));
    const std::string from = parts_->path(name);
    if (::link(from.c_str(), path.c_str()) != 0 && ::rename(from.c_str(), path.c_str()) != 0)
      return as_asked(file_error("cannot rename", from, errno));
  }
  TENON_TRY(generation_->as_asked(generation_->commit()));
  parts_->remove();
  return {};
}

Status OutputSet::commit() {
  if (is_part()) return {};
  if (!parts_) return generation_->as_asked(generation_->commit());
  // Nothing of the parts goes away before all have read what they need.
  if (!generation_) TENON_TRY(parts_->mark(rank_name(process_rank())));
  return as_first_does([&] { return show_parts(); });
}

Status write_labels_and_info(OutputSet& output, const ConvertSummary& summary, const std::string& more) {
  std::string labels;
  for (const std::string& label : summary.labels) labels += label + "\n";
  TENON_TRY(output.write_text("labels.txt", labels));
  std::string info = cat("{\"classes\": ", summary.labels.size(), more);
  for (const ConvertSummary::Split& split : summary.splits)
    info += cat(", \"", split.name, "\": {\"records\": ", split.records, ", \"shards\": ", split.files.size(), "}");
  return output.write_text("info.json", info + "}\n");
}

Status check_label(std::string_view where, std::string_view label) {
  if (label == trimmed(label) && label.find_first_of("\n\r") == std::string_view::npos) return {};
  return invalid(where,
                 ": a class is a line of labels.txt; expected a name without line ends, and without blanks around it");
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  TENON_ASSIGN(std::vector<std::string> labels, read_class_names(path));
  if (labels.size() < 2) return invalid("labels '", path, "': expected at least 2 labels, found ", labels.size());
  return labels;
}

}  // namespace tenon
