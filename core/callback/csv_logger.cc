#include "base/file/file.h"
#include "base/python_text.h"
#include "base/strings.h"
#include "tenon/callbacks.h"
#include "tenon/processes.h"

namespace tenon {
namespace {

constexpr std::string_view kLineEnd = "\r\n", kRate = "learning_rate", kValidation = "val_";

std::vector<std::string> columns_of(const Logs& logs) {
  std::vector<std::string> out;
  bool validated = false;
  for (const auto& entry : logs) {
    out.push_back(entry.first);
    validated |= entry.first.starts_with(kValidation);
  }
  if (validated) return out;
  for (const auto& entry : logs)
    if (entry.first != kRate) out.push_back(cat(kValidation, entry.first));
  return out;
}

// The fields of a header that this wrote.
std::vector<std::string> header_of(const std::string& contents, const std::string& separator) {
  const std::string line = contents.substr(0, contents.find_first_of("\r\n"));
  std::vector<std::string> out;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(separator, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end + separator.size();
  }
  return out;
}

}  // namespace

CSVLogger::CSVLogger(std::string filename, CSVLoggerOptions options)
    : filename_(std::move(filename)), options_(std::move(options)) {
  if (filename_.empty()) fail("CSVLogger: filename is '', expected a path");
  if (options_.separator.size() != 1)
    fail("CSVLogger: separator is '", options_.separator, "', expected one character");
}

// What is appended to has the columns that it has, whatever there is to log now.
void CSVLogger::on_train_begin(TrainingRun&) {
  if (!is_first_process()) return;
  contents_.clear();
  names_.clear();
  const Result<int64_t> bytes = file_bytes(filename_);
  if (options_.append && bytes.ok() && *bytes > 0) {
    contents_ = read_file(filename_).take();
    if (!contents_.ends_with('\n')) contents_ += kLineEnd;
    names_ = header_of(contents_, options_.separator);
    names_.erase(names_.begin());
  }
  check(make_directories(directory_of(filename_)));
  check(atomic_write(filename_, contents_));
}

std::string CSVLogger::row(const std::vector<std::string>& fields) const {
  std::vector<std::string> out;
  for (const std::string& field : fields) out.push_back(csv_field(field, options_.separator));
  return cat(join(out, options_.separator), kLineEnd);
}

void CSVLogger::on_epoch_end(TrainingRun&, int epoch, Logs& logs) {
  if (!is_first_process()) return;
  if (names_.empty()) {
    names_ = columns_of(logs);
    std::vector<std::string> header{"epoch"};
    header.insert(header.end(), names_.begin(), names_.end());
    contents_ += row(header);
  }
  std::vector<std::string> fields{cat(epoch)};
  for (const std::string& name : names_) {
    const auto it = logs.find(name);
    fields.push_back(it == logs.end() ? "NA" : python_text(it->second));
  }
  contents_ += row(fields);
  check(atomic_write(filename_, contents_));
}

}  // namespace tenon
