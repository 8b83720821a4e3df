#include "survey/set_survey.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "output.h"
#include "tenon/dataset.h"
#include "tenon/tfrecord.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

constexpr int64_t kNoLabel = -1;

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// "record 7" of "train-00000-of-00001: record 7", "7.png" of a file.
std::string short_name(const std::string& where) {
  const size_t record = where.rfind(": ");
  return record == std::string::npos ? base_name(where) : where.substr(record + 2);
}

// ---- what goes through the chain: "data" a record or the bytes of a file, "where", "label", and "damage" where it was found damaged ----

Element to_look_at(std::string_view data, const std::string& where, int64_t label, const std::string& damage = {}) {
  Element out;
  out.emplace("data", text_array(data));
  out.emplace("where", text_array(where));
  out.emplace("label", Array(label));
  out.emplace("damage", text_array(damage));
  return out;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) throw Error(Status(Code::kUnavailable, "cannot read '" + path + "'"));
  return bytes.str();
}

// Records of files, the damaged ones too.
class Records {
 public:
  explicit Records(std::vector<std::string> files) : files_(std::move(files)) {}

  std::optional<Element> next() {
    for (std::string_view record; file_ < files_.size();) {
      const std::string& path = files_[file_];
      if (!reader_) reader_.emplace(RecordReader::open(path, {.skip_corrupt = true}).take());
      const bool more = reader_->next(&record).take();
      if (reader_->skipped() > skipped_) return damaged(record, more);
      if (more) return to_look_at(record, base_name(path) + ": record " + std::to_string(number_++), kNoLabel);
      ++file_;
      reader_.reset();
      skipped_ = 0;
      number_ = 0;
    }
    return std::nullopt;
  }

 private:
  // What was passed over, and with it the record behind it.
  Element damaged(std::string_view record, bool more) {
    const auto passed = static_cast<int64_t>(reader_->skipped() - skipped_);
    skipped_ = reader_->skipped();
    number_ += passed + (more ? 1 : 0);
    Element out = to_look_at(more ? record : std::string_view(), base_name(files_[file_]), kNoLabel,
                             reader_->last_skipped().message());
    out.emplace("passed", Array(passed));
    return out;
  }

  std::vector<std::string> files_;
  size_t file_ = 0;
  std::optional<RecordReader> reader_;
  uint64_t skipped_ = 0;
  int64_t number_ = 0;
};

Dataset::Generator records_of(const DataSet& set) {
  return [records = std::make_shared<Records>(set.files)] { return records->next(); };
}

Dataset::Generator files_of(const DataSet& set) {
  return [&set, at = size_t{0}]() mutable -> std::optional<Element> {
    if (at == set.files.size()) return std::nullopt;
    const size_t i = at++;
    return to_look_at({}, set.files[i], set.labels.empty() ? kNoLabel : set.labels[i]);
  };
}

// The record's label, of `tenon convert` from 1, else one that is called "label".
int64_t label_of(const Example& example) {
  if (const Result<int64_t> stored = example.int64("image/class/label"); stored.ok()) return *stored - 1;
  const Result<int64_t> plain = example.int64("label");
  return plain.ok() ? *plain : kNoLabel;
}

void note_image(const std::string& format, const Result<PixelImage>& image, Element* out) {
  if (!image.ok()) {
    (*out)["damage"] = text_array(image.status().message());
    return;
  }
  out->emplace("format", text_array(format));
  out->emplace("size", Array(std::vector<int32_t>{image->width, image->height}));
}

// In any thread: decodes it, and says what it is.
Element looked_at_record(Element element) {
  if (text_of(element.at("data")).empty()) return element;
  Example example;
  const std::string_view record = text_of(element.at("data"));
  if (const Status parsed = example.parse(record); !parsed.ok()) {
    element["damage"] = text_array(parsed.message());
    return element;
  }
  element["label"] = Array(label_of(example));
  const Result<std::string_view> encoded = example.bytes("image/encoded");
  if (!encoded.ok()) return element;
  const std::string format = image_format_of(*encoded);
  note_image(format.empty() ? "RAW" : format, record_pixels(record), &element);
  return element;
}

Element looked_at_file(Element element) {
  try {
    const std::string bytes = read_bytes(std::string(text_of(element.at("where"))));
    const std::string format = image_format_of(bytes);
    if (format.empty())
      element["damage"] = text_array("is no JPEG, PNG or WebP image");
    else
      note_image(format, decode_pixels(bytes), &element);
    element["data"] = text_array(bytes);
  } catch (const Error& e) {
    element["damage"] = text_array(e.what());
  }
  return element;
}

// How many of each class are shown, of so many as there are: as many of one as of another, or all it has.
std::map<int64_t, int64_t> shares(const std::map<int64_t, int64_t>& there, int64_t shown) {
  std::map<int64_t, int64_t> out;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [label, count] : there)
      if (shown > 0 && out[label] < count) ++out[label], --shown, more = true;
  }
  return out;
}

class Tally {
 public:
  Tally(const DataSet& set, int64_t shown, std::vector<ShownExample>* first) : set_(set), shown_(shown), first_(first) {
    for (const int64_t label : set.labels) ++there_[label];
    shares_ = shares(there_, shown_);
  }

  void add(const Element& element) {
    const std::string_view data = text_of(element.at("data")), damage = text_of(element.at("damage"));
    const std::string where(text_of(element.at("where")));
    out_.bytes += std::ssize(data);
    const auto passed = element.find("passed");
    if (!damage.empty())
      tell(where, std::string(damage), passed == element.end() ? 1 : passed->second.to<int64_t>()[0]);
    const int64_t label = element.at("label").to<int64_t>()[0];
    if (data.empty() || (!damage.empty() && passed == element.end())) {
      if (set_.labels.empty() || std::ssize(*first_) >= shown_) return;
      --there_[label];
      shares_ = shares(there_, shown_);  // its place is another's
      return;
    }
    ++out_.examples;
    if (label != kNoLabel) ++out_.classes[label];
    if (set_.kind == SetKind::kRecords) {
      Example example;
      if (example.parse(data).ok()) out_.fields.add(example);
    }
    const auto size = element.find("size");
    if (size == element.end()) return;
    const std::vector<int32_t> sides = size->second.to<int32_t>();
    out_.images.add(std::string(text_of(element.at("format"))), sides[0], sides[1]);
    if (std::ssize(*first_) < shown_ && (set_.labels.empty() || shown_of_class_[label] < shares_[label]))
      show(data, short_name(where), label);
  }
  SetSurvey take() { return std::move(out_); }

 private:
  void tell(const std::string& where, const std::string& what, int64_t times) {
    for (int64_t i = 0; i < times; ++i)
      out_.damaged.push_back(what.find(base_name(where)) != std::string::npos ? what : where + ": " + what);
  }
  void show(std::string_view data, const std::string& name, int64_t label) {
    Result<PixelImage> image = set_.kind == SetKind::kRecords ? record_pixels(data) : decode_pixels(data);
    if (!image.ok()) return;
    ++shown_of_class_[label];
    first_->push_back({image.take(), name, label == kNoLabel ? "" : class_name(set_, label)});
  }

  const DataSet& set_;
  int64_t shown_;
  // Folders come one after the other: images of each that may be good, how many of them are to be shown, and were.
  std::map<int64_t, int64_t> there_ = {}, shares_ = {}, shown_of_class_ = {};
  std::vector<ShownExample>* first_;
  SetSurvey out_;
};

SetSurvey survey_examples(const DataSet& set, int64_t shown, std::vector<ShownExample>* first) {
  const bool records = set.kind == SetKind::kRecords;
  const Dataset data = Dataset::from_generator([&] {
                         return records ? records_of(set) : files_of(set);
                       }).map(records ? looked_at_record : looked_at_file);
  Tally tally(set, shown, first);
  for (ElementIterator at = data.elements(process_threads()); at != data.end(); ++at) tally.add(*at);
  return tally.take();
}

// To the next row that can be read.
void step_on(ElementIterator& at, const Dataset& data, std::vector<std::string>* damaged) {
  for (;;) try {
      ++at;
      return;
    } catch (const Error& e) {
      if (e.status().code() == Code::kOutOfMemory) throw;
      damaged->push_back(e.what());
      if (at == data.end()) return;
    }
}

SetSurvey survey_table(const DataSet& set) {
  SetSurvey out;
  out.bytes = static_cast<int64_t>(std::filesystem::file_size(set.files[0]));
  const CsvOptions options{.delimiter = set.files[0].ends_with(".tsv") ? '\t' : ','};
  const Dataset rows = Dataset::from_csv(set.files, options);
  for (ElementIterator at = rows.elements(1); at != rows.end(); step_on(at, rows, &out.damaged)) {
    const Element& row = *at;
    if (out.examples++ == 0)
      for (const auto& [name, value] : row) out.columns.push_back({name, value.shape().rank() == 0});
    for (SurveyedColumn& column : out.columns) {
      if (!column.numbers) continue;
      const double value = row.at(column.name).item();
      column.least = out.examples == 1 ? value : std::min(column.least, value);
      column.most = out.examples == 1 ? value : std::max(column.most, value);
      column.sum += value;
    }
  }
  return out;
}

SetSurvey survey_text(const DataSet& set) {
  SetSurvey out;
  for (const Element& element : Dataset::from_text_lines(set.files)) {
    const auto size = std::ssize(text_of(element.at("line")));
    ++out.examples;
    out.bytes += size + 1;
    out.longest_line = std::max<int64_t>(out.longest_line, size);
  }
  return out;
}

}  // namespace

void ImageSizes::add(const std::string& format, int width, int height) {
  if (formats.empty()) least = most = {width, height};
  ++formats[format];
  least = {std::min(least.first, width), std::min(least.second, height)};
  most = {std::max(most.first, width), std::max(most.second, height)};
}

std::string class_name(const DataSet& set, int64_t label) {
  const bool named = label >= 0 && label < std::ssize(set.classes);
  return named ? set.classes[static_cast<size_t>(label)] : std::to_string(label);
}

SetSurvey survey_of(const DataSet& set, int64_t shown, std::vector<ShownExample>* first) {
  if (set.kind == SetKind::kTable) return survey_table(set);
  if (set.kind == SetKind::kText) return survey_text(set);
  return survey_examples(set, shown, first);
}

}  // namespace tenon::runner
