#include "survey/image_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "output.h"
#include "tenon/dataset.h"

namespace tenon::runner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kId = "image_id";

bool has_ids(const fs::path& table) {
  std::ifstream file(table);
  std::string header;
  std::getline(file, header);
  std::replace(header.begin(), header.end(), '\r', ',');
  return ("," + header + ",").find(std::string(",") + kId + ",") != std::string::npos;
}

std::string image_path(const fs::path& images, const std::string& id) {
  for (const char* ending : {".jpg", ".jpeg", ".png", ".webp"})
    if (fs::exists(images / (id + ending))) return (images / (id + ending)).string();
  return (images / (id + ".jpg")).string();
}

// The place of the only 1.
int64_t class_of(const Element& row, const std::vector<std::string>& classes, const std::string& table) {
  int64_t label = 0, ones = 0;
  for (size_t c = 0; c < classes.size(); ++c)
    if (row.at(classes[c]).item() != 0) label = static_cast<int64_t>(c), ++ones;
  if (ones == 1) return label;
  throw Error(Status(Code::kInvalid, format("%s: image_id '%s' is of %ld classes, expected one", table.c_str(),
                                            std::string(text_of(row.at(kId))).c_str(), static_cast<long>(ones))));
}

DataSet set_of_table(const std::string& name, const fs::path& table, bool labelled) {
  DataSet out{name, SetKind::kImages};
  CsvOptions options{.types = {{kId, DType::kU8}}};
  if (!labelled) options.select = {kId};
  for (const Element& first : Dataset::from_csv({table.string()}, options).take(1))
    for (const auto& [column, value] : first)
      if (options.types.emplace(column, DType::kBool).second) out.classes.push_back(column);
  for (const Element& row : Dataset::from_csv({table.string()}, options)) {
    out.files.push_back(image_path(table.parent_path() / "images", std::string(text_of(row.at(kId)))));
    if (!out.classes.empty()) out.labels.push_back(class_of(row, out.classes, table.string()));
  }
  return out;
}

}  // namespace

std::vector<DataSet> find_image_tables(const std::string& directory) {
  const fs::path train = fs::path(directory) / "train.csv", test = fs::path(directory) / "test.csv";
  if (!fs::is_directory(fs::path(directory) / "images") || !fs::exists(train) || !has_ids(train)) return {};
  std::vector<DataSet> out{set_of_table("train", train, true)};
  if (fs::exists(test) && has_ids(test)) out.push_back(set_of_table("test", test, false));
  std::erase_if(out, [](const DataSet& set) { return set.files.empty(); });
  return out;
}

}  // namespace tenon::runner
