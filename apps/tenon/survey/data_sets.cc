#include "survey/data_sets.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "output.h"
#include "survey/image_table.h"
#include "tenon/text_file.h"
#include "tenon/tfrecord.h"

namespace tenon::runner {
namespace {

namespace fs = std::filesystem;

std::string beginning_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(16, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

bool is_image(const fs::path& path) { return !image_format_of(beginning_of(path)).empty(); }

// One record of it is whole.
bool is_records(const fs::path& path) {
  Result<RecordReader> reader = RecordReader::open(path.string(), {.skip_corrupt = true});
  std::string_view record;
  if (!reader.ok()) return false;
  const Result<bool> more = reader->next(&record);
  return more.ok() && *more;
}

// "train" of "train-00003-of-00010"; empty: the name is no shard's.
std::string split_of(const std::string& name) {
  const size_t of = name.rfind("-of-");
  const size_t dash = of == std::string::npos || of == 0 ? std::string::npos : name.rfind('-', of - 1);
  if (dash == std::string::npos || dash == 0) return {};
  const auto digits = [&](size_t begin, size_t end) {
    return begin < end && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin),
                                      name.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](unsigned char c) { return c >= '0' && c <= '9'; });
  };
  return digits(dash + 1, of) && digits(of + 4, name.size()) ? name.substr(0, dash) : std::string();
}

std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (!at->path().filename().string().starts_with(".")) out.push_back(at->path());
  if (error)
    throw Error(Status(Code::kUnavailable, "cannot read directory '" + directory.string() + "': " + error.message()));
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> class_names(const fs::path& directory) {
  const fs::path file = directory / "labels.txt";
  return fs::exists(file) ? read_text_lines(file.string()).take() : std::vector<std::string>();
}

bool by_name(const fs::path& path, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const char* e) { return path.extension() == e; });
}

std::optional<DataSet> set_of_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (is_image(path)) return DataSet{name, SetKind::kImages, {path.string()}};
  if (by_name(path, {".csv", ".tsv"})) return DataSet{name, SetKind::kTable, {path.string()}};
  if (is_records(path)) return DataSet{name, SetKind::kRecords, {path.string()}, {}, class_names(path.parent_path())};
  if (by_name(path, {".txt", ".text", ".gz"})) return DataSet{name, SetKind::kText, {path.string()}};
  return std::nullopt;
}

// As Dataset::from_directory takes them: all but hidden ones, and of links to directories nothing.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> out;
  for (const fs::path& path : entries_of(folder)) {
    if (fs::is_regular_file(path)) out.push_back(path.string());
    if (!fs::is_directory(path) || fs::is_symlink(path)) continue;
    std::vector<std::string> below = files_below(path);
    std::move(below.begin(), below.end(), std::back_inserter(out));
  }
  return out;
}

// Folders with images, each a class.
DataSet set_of_folders(const std::vector<fs::path>& entries) {
  DataSet out{"images", SetKind::kImages};
  for (const fs::path& folder : entries) {
    if (!fs::is_directory(folder)) continue;
    const std::vector<std::string> files = files_below(folder);
    if (std::none_of(files.begin(), files.end(), [](const std::string& f) { return is_image(f); })) continue;
    out.classes.push_back(folder.filename().string());
    out.labels.insert(out.labels.end(), files.size(), std::ssize(out.classes) - 1);
    out.files.insert(out.files.end(), files.begin(), files.end());
  }
  return out;
}

std::vector<DataSet> sets_in(const fs::path& directory) {
  const std::vector<fs::path> entries = entries_of(directory);
  std::map<std::string, DataSet> splits;
  for (const fs::path& path : entries) {
    const std::string split = split_of(path.filename().string());
    if (split.empty() || !fs::is_regular_file(path)) continue;
    splits.try_emplace(split, DataSet{split, SetKind::kRecords, {}, {}, class_names(directory)})
        .first->second.files.push_back(path.string());
  }
  std::vector<DataSet> out;
  for (auto& [name, set] : splits)  // files of checkpoints are named so too
    if (std::any_of(set.files.begin(), set.files.end(), [](const std::string& f) { return is_records(f); }))
      out.push_back(std::move(set));
  if (!out.empty()) return out;
  if (out = find_image_tables(directory.string()); !out.empty()) return out;
  if (DataSet folders = set_of_folders(entries); !folders.files.empty()) return {std::move(folders)};
  DataSet images{"images", SetKind::kImages};
  for (const fs::path& path : entries) {
    if (!fs::is_regular_file(path)) continue;
    std::optional<DataSet> set = set_of_file(path);
    if (set && set->kind == SetKind::kImages)
      images.files.push_back(path.string());
    else if (set)
      out.push_back(std::move(*set));
  }
  if (!images.files.empty()) out.insert(out.begin(), std::move(images));
  return out;
}

}  // namespace

const char* set_kind_name(SetKind kind) {
  switch (kind) {
    case SetKind::kRecords:
      return "records";
    case SetKind::kImages:
      return "images";
    case SetKind::kTable:
      return "table";
    case SetKind::kText:
      break;
  }
  return "text";
}

std::string image_format_of(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return "JPEG";
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "PNG";
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP") return "WebP";
  return {};
}

std::vector<DataSet> find_data_sets(const std::string& path) {
  std::error_code error;
  std::vector<DataSet> out;
  if (fs::is_directory(path, error))
    out = sets_in(path);
  else if (!fs::exists(path, error))
    throw Error(Status(Code::kUnavailable, "no file or directory '" + path + "'"));
  else if (std::optional<DataSet> set = set_of_file(path))
    out.push_back(std::move(*set));
  if (out.empty())
    throw Error(Status(Code::kInvalid, "'" + path +
                                           "' has no data that Tenon knows: expected TFRecord files, JPEG, PNG or "
                                           "WebP images, folders of them, tables (.csv, .tsv) or text (.txt)"));
  return out;
}

}  // namespace tenon::runner
