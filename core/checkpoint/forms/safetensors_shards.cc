#include "checkpoint/forms/safetensors_shards.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file/file.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "checkpoint/within_memory.h"

namespace tenon {
namespace {

constexpr int64_t kMostIndex = int64_t{64} << 20;
constexpr int kMostDepth = 64;
constexpr size_t kMostShards = 4096;

// "weight_map" of the outermost object, whatever else there is.
class IndexParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit IndexParser(size_t size) : size_(size) {}

  std::map<std::string, std::string> map;
  const std::string& why() const { return why_; }
  bool has_map() const { return has_map_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool string(string_t& text) override {
    if (!in_map_) return true;
    if (!map.emplace(key_, std::move(text)).second) return error(cat("'", abbreviated(key_), "' stands there twice"));
    return true;
  }
  bool key(string_t& name) override { return key_ = std::move(name), true; }
  bool start_object(size_t) override {
    if (in_map_) return value();
    if (level_ == 1 && key_ == "weight_map") in_map_ = has_map_ = true;
    return deeper();
  }
  bool end_object() override { return in_map_ = false, --level_, true; }
  bool start_array(size_t) override { return in_map_ ? value() : deeper(); }
  bool end_array() override { return --level_, true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return error(json_mistake(position, size_));
  }

 private:
  bool error(std::string why) { return why_ = std::move(why), false; }
  bool value() { return !in_map_ || error(cat("weight_map: '", abbreviated(key_), "' is no name of a file")); }
  bool deeper() { return ++level_ <= kMostDepth || error("is nested too deep"); }

  size_t size_;  // of the text
  std::string key_, why_;
  int level_ = 0;
  bool in_map_ = false, has_map_ = false;
};

bool is_name_beside(const std::string& name) {
  return name.ends_with(".safetensors") && name.find('/') == name.npos && name.find('\0') == name.npos;
}

}  // namespace

bool is_safetensors_index(std::string_view path) { return path.ends_with(".safetensors.index.json"); }

Result<SafetensorsShards> SafetensorsShards::open(const std::string& path) {
  return within_memory("read", path, [&]() -> Result<SafetensorsShards> {
    TENON_ASSIGN(const std::string text, read_file(path, kMostIndex));
    IndexParser parser(text.size());
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &parser)) return invalid("'", path, "': ", parser.why());
    if (!parser.has_map()) return invalid("'", path, "': has no weight_map; is it an index of safetensors files?");
    SafetensorsShards out(path);
    TENON_TRY(out.take(parser.map));
    return out;
  });
}

Status SafetensorsShards::take(const WeightMap& map) {
  std::set<std::string> names;
  for (const auto& [tensor, name] : map) {
    if (!is_name_beside(name))
      return invalid("'", path_, "': weight_map: '", abbreviated(tensor), "' is in '", abbreviated(name),
                     "', expected the name of a .safetensors file beside it");
    names.insert(name);
  }
  if (names.size() > kMostShards)
    return invalid("'", path_, "': names ", names.size(), " files, expected at most ", kMostShards);
  for (const std::string& name : names) TENON_TRY(take_shard(name, map));
  for (const auto& [tensor, name] : map)
    if (!entries_.contains(tensor))
      return invalid("'", path_, "': weight_map: '", name, "' has no tensor '", abbreviated(tensor), "'");
  return {};
}

Status SafetensorsShards::take_shard(const std::string& name, const WeightMap& map) {
  TENON_ASSIGN(SafetensorsReader reader,
               SafetensorsReader::open((std::filesystem::path(path_).parent_path() / name).string()));
  for (const auto& [tensor, entry] : reader.entries()) {
    const auto found = map.find(tensor);
    if (found == map.end() || found->second != name)
      return invalid("'", path_, "': '", name, "' has a tensor '", abbreviated(tensor), "', which weight_map ",
                     found == map.end() ? "does not name" : "has elsewhere");
    entries_.emplace(tensor, entry);
    shard_of_.emplace(tensor, shards_.size());
  }
  shards_.push_back(std::move(reader));
  return {};
}

Status SafetensorsShards::read(std::string_view name, std::span<std::byte> out) const {
  const auto found = shard_of_.find(name);
  if (found == shard_of_.end()) return invalid("'", path_, "' has no tensor '", abbreviated(name), "'");
  return shards_[found->second].read(name, out);
}

}  // namespace tenon
