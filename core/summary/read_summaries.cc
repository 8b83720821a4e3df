#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/file/file.h"
#include "base/half.h"
#include "data/record/record_format.h"
#include "summary/event_proto.h"
#include "tenon/summary.h"
#include "tenon/tfrecord.h"

namespace tenon {
namespace {

namespace proto = event_proto;
using proto::each_field;
using wire::Field;

struct ReadTensor {
  std::optional<double> number;     // of one element
  std::optional<std::string> text;  // the first of strings
};

// One float or double, packed or not, or as content.
std::optional<double> number_of(const Field& field) {
  const bool content = field.tag == wire::tag(proto::kContent, wire::kBytes);
  if (field.number() != proto::kFloats && field.number() != proto::kDoubles && !content) return std::nullopt;
  if (field.contents.size() == 4) return load_unaligned<float>(field.contents.data());
  if (field.contents.size() == 8) return load_unaligned<double>(field.contents.data());
  return std::nullopt;
}

ReadTensor tensor_of(std::string_view tensor) {
  ReadTensor out;
  uint64_t dtype = 0;
  each_field(tensor, [&](const Field& field) {
    if (field.tag == wire::tag(proto::kDType, wire::kVarint)) dtype = field.varint;
    if (dtype == proto::kFloat || dtype == proto::kDouble)
      if (const auto number = number_of(field)) out.number = number;
    if (field.tag == wire::tag(proto::kStrings, wire::kBytes) && !out.text) out.text = field.contents;
  });
  return out;
}

std::string plugin_of(std::string_view metadata) {
  std::string out;
  each_field(metadata, [&](const Field& field) {
    if (field.tag != wire::tag(proto::kPluginData, wire::kBytes)) return;
    each_field(field.contents, [&](const Field& data) {
      if (data.tag == wire::tag(proto::kPluginName, wire::kBytes)) out = data.contents;
    });
  });
  return out;
}

class SummaryReader {
 public:
  void add_event(std::string_view event) {
    step_ = 0;
    each_field(event, [&](const Field& field) {
      if (field.tag == wire::tag(proto::kWallTime, wire::kFixed64))
        time_ = load_unaligned<double>(field.contents.data());
      if (field.tag == wire::tag(proto::kStep, wire::kVarint)) step_ = static_cast<int64_t>(field.varint);
      if (field.tag == wire::tag(proto::kSessionLog, wire::kBytes)) begin_session(field.contents);
      if (field.tag != wire::tag(proto::kSummary, wire::kBytes)) return;
      each_field(field.contents, [&](const Field& value) {
        if (value.tag == wire::tag(proto::kValue, wire::kBytes)) add_value(value.contents);
      });
    });
  }

  RecordedSummaries take() {
    RecordedSummaries out;
    for (const auto& [tag, points] : scalars_)
      for (const auto& entry : points) out.scalars[tag].push_back(entry.second);
    out.texts = std::move(texts_);
    return out;
  }

 private:
  void begin_session(std::string_view log) {
    bool starts = false;
    each_field(log, [&](const Field& field) {
      starts |= field.tag == wire::tag(proto::kStatus, wire::kVarint) && field.varint == proto::kStart;
    });
    if (!starts) return;
    for (auto& [tag, points] : scalars_) points.erase(points.lower_bound(step_), points.end());
  }

  void add_value(std::string_view value) {
    std::string tag, plugin;
    std::optional<double> number;
    ReadTensor tensor;
    each_field(value, [&](const Field& field) {
      if (field.tag == wire::tag(proto::kTag, wire::kBytes)) tag = field.contents;
      if (field.tag == wire::tag(proto::kSimpleValue, wire::kFixed32))
        number = load_unaligned<float>(field.contents.data());
      if (field.tag == wire::tag(proto::kTensor, wire::kBytes)) tensor = tensor_of(field.contents);
      if (field.tag == wire::tag(proto::kMetadata, wire::kBytes)) plugin = plugin_of(field.contents);
    });
    if (!plugin.empty()) plugins_[tag] = plugin;  // which later values of the tag may leave out
    if (!number && plugins_[tag] == "scalars") number = tensor.number;
    if (number) scalars_[tag][step_] = {step_, time_, *number};
    if (tensor.text && plugins_[tag] == "text") texts_[tag] = *tensor.text;
  }

  int64_t step_ = 0;
  double time_ = 0;
  std::map<std::string, std::map<int64_t, ScalarPoint>> scalars_;
  std::map<std::string, std::string> texts_, plugins_;
};

}  // namespace

Result<RecordedSummaries> read_summaries(const std::string& logdir) {
  std::error_code missing;
  if (!std::filesystem::is_directory(logdir, missing)) return RecordedSummaries();
  TENON_ASSIGN(const std::vector<std::string> files, list_files(logdir, "*tfevents*"));
  SummaryReader all;
  for (const std::string& file : files) {
    TENON_ASSIGN(RecordReader reader, RecordReader::open(file, {.skip_corrupt = true}));
    for (std::string_view record;;) {
      TENON_ASSIGN(const bool more, reader.next(&record));
      if (!more) break;
      all.add_event(record);
    }
  }
  return all.take();
}

}  // namespace tenon
