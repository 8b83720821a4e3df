// Which data sets a directory or a file is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::runner {

enum class SetKind : uint8_t { kRecords, kImages, kTable, kText };
const char* set_kind_name(SetKind kind);  // "records", "images", ...

struct DataSet {
  std::string name;  // "train", or the file's
  SetKind kind;
  std::vector<std::string> files = {};
  std::vector<int64_t> labels = {};       // of images in folders, of each file
  std::vector<std::string> classes = {};  // names; empty: unknown
};

// The sets of a directory: shards of records by their split, else images whose classes a table has (image_table.h), else folders of
// images with a class each, else its images, tables and texts. Of a file, what its first bytes say. Throws Error where there is nothing that Tenon knows.
std::vector<DataSet> find_data_sets(const std::string& path);

// "JPEG", "PNG", "WebP"; empty: no image.
std::string image_format_of(std::string_view bytes);

}  // namespace tenon::runner
