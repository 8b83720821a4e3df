#include "callback/event_file.h"

#include <fcntl.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/file/file.h"
#include "base/text.h"
#include "data/record/record_format.h"
#include "data/record/wire.h"
#include "tenon/processes.h"
#include "tenon/tfrecord.h"

namespace tenon {
namespace {

// Fields of Event, Summary and Summary.Value (tensorflow/core/util/event.proto, framework/summary.proto).
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kValue = 1, kTag = 1, kSimpleValue = 2;
constexpr int kMostFiles = 1000;  // that were begun in one second

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class Bits>
void put_fixed(std::string& out, uint32_t field, wire::Type type, Bits bits) {
  wire::put_varint(out, wire::tag(field, type));
  out.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

std::string event_now() {
  std::string out;
  put_fixed(out, kWallTime, wire::kFixed64, std::bit_cast<uint64_t>(wall_time()));
  return out;
}

std::string summary_of(const Logs& scalars) {
  std::string out;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    wire::put_bytes(value, kTag, tag);
    put_fixed(value, kSimpleValue, wire::kFixed32, std::bit_cast<uint32_t>(static_cast<float>(number)));
    wire::put_bytes(out, kValue, value);
  }
  return out;
}

// Calls take(field) for each field as far as the message is sound.
template <class Take>
void each_field(std::string_view message, const Take& take) {
  for (wire::Field field; !message.empty() && wire::take_field(&message, &field);) take(field);
}

void add_value(std::string_view value, Logs& out) {
  std::string tag;
  std::optional<float> number;
  each_field(value, [&](const wire::Field& field) {
    if (field.tag == wire::tag(kTag, wire::kBytes)) tag = field.contents;
    if (field.tag == wire::tag(kSimpleValue, wire::kFixed32)) number = load_unaligned<float>(field.contents.data());
  });
  if (number) out[tag] = *number;
}

void add_event(std::string_view event, std::map<int64_t, Logs>& out) {
  int64_t step = 0;
  Logs scalars;
  each_field(event, [&](const wire::Field& field) {
    if (field.tag == wire::tag(kStep, wire::kVarint)) step = static_cast<int64_t>(field.varint);
    if (field.tag != wire::tag(kSummary, wire::kBytes)) return;
    each_field(field.contents, [&](const wire::Field& value) {
      if (value.tag == wire::tag(kValue, wire::kBytes)) add_value(value.contents, scalars);
    });
  });
  for (const auto& [tag, number] : scalars) out[step][tag] = number;
}

}  // namespace

EventFile::EventFile(const std::string& directory) {
  if (!is_first_process()) return;  // it writes for all
  check(make_directories(directory));
  const std::string name = cat(directory, "/events.out.tfevents.", static_cast<int64_t>(wall_time()), ".tenon");
  for (int n = 0; n < kMostFiles && !file_; ++n) {
    path_ = n == 0 ? name : cat(name, ".", n);
    file_ = open_file(path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
    if (!file_ && errno != EEXIST) break;
  }
  if (!file_) check(file_error("cannot create", path_, errno));
  std::string first = event_now();
  wire::put_bytes(first, kFileVersion, "brain.Event:2");
  write(first);
}

void EventFile::add(int64_t step, const Logs& scalars) {
  std::string event = event_now();
  wire::put_varint(event, wire::tag(kStep, wire::kVarint));
  wire::put_varint(event, static_cast<uint64_t>(step));
  wire::put_bytes(event, kSummary, summary_of(scalars));
  write(event);
}

void EventFile::write(std::string_view event) {
  if (!file_) return;
  const RecordFrame frame(event);
  std::string record;
  record.append(frame.header(), kRecordHeader).append(event).append(frame.footer(), kRecordFooter);
  if (!write_fully(file_.get(), record.data(), record.size())) check(file_error("cannot write", path_, errno));
}

std::map<int64_t, Logs> read_scalars(const std::string& directory) {
  std::map<int64_t, Logs> out;
  std::error_code missing;
  if (!std::filesystem::is_directory(directory, missing)) return out;
  for (const std::string& file : list_files(directory, "events.out.tfevents.*").take()) {
    RecordReader reader = RecordReader::open(file, {.skip_corrupt = true}).take();
    for (std::string_view record; reader.next(&record).take();) add_event(record, out);
  }
  return out;
}

}  // namespace tenon
