// Compiled without RTTI, as leveldb is: nothing else belongs in this file.
#include "train/tensor_bundle_table.h"

#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/slice.h>
#include <leveldb/table_builder.h>

#include "base/text.h"

namespace tenon {
namespace {

class StringSink final : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return {};
  }
  leveldb::Status Close() override { return {}; }
  leveldb::Status Flush() override { return {}; }
  leveldb::Status Sync() override { return {}; }

  std::string bytes;
};

leveldb::Options table_options() {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = 262144;
  options.block_restart_interval = 16;
  options.filter_policy = nullptr;
  return options;
}

}  // namespace

Result<std::string> encode_table(const std::map<std::string, std::string>& entries) {
  StringSink sink;
  leveldb::TableBuilder builder(table_options(), &sink);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  if (leveldb::Status s = builder.Finish(); !s.ok())
    return Status(Code::kInternal, cat("checkpoint index: ", s.ToString()));
  return std::move(sink.bytes);
}

}  // namespace tenon
