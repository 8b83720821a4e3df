// Pairs that are members of JSON objects, one a line.
#include <nlohmann/json.hpp>

#include "base/file/line_reader.h"
#include "base/strings.h"
#include "data/text/pair_reader.h"

namespace tenon {
namespace {

class JsonLinePairs : public PairReader {
 public:
  JsonLinePairs(LineReader lines, std::string source, std::string target)
      : lines_(std::move(lines)), source_(std::move(source)), target_(std::move(target)) {}

  Result<bool> read(TextPair& pair) override {
    TENON_ASSIGN(const bool more, lines_.next(line_));
    if (!more) return false;
    nlohmann::json json;
    try {
      json = nlohmann::json::parse(line_);
    } catch (const nlohmann::json::exception& e) {
      return wrong(is_cut(line_, e) ? "JSON that ends in the middle" : "no valid JSON in UTF-8");
    }
    if (!json.is_object()) return wrong(json.type_name());
    TENON_TRY(take(json, source_, pair.source));
    TENON_TRY(take(json, target_, pair.target));
    return true;
  }
  int64_t position() const override { return lines_.number(); }
  std::string where(int64_t position) const override { return lines_.where(position); }

 private:
  static bool is_cut(const std::string& line, const nlohmann::json::exception& e) {
    const auto* const at = dynamic_cast<const nlohmann::json::parse_error*>(&e);
    return at && !line.empty() && at->byte > line.size();
  }
  Status wrong(const char* found) const {
    return invalid(lines_.where(lines_.number()), ": expected an object with the texts '", source_, "' and '", target_,
                   "', found ", found);
  }
  Status take(nlohmann::json& json, const std::string& name, std::string& text) const {
    const auto found = json.find(name);
    if (found == json.end()) return wrong(cat("no '", name, "'").c_str());
    if (!found->is_string()) return wrong(cat("a '", name, "' that is ", found->type_name()).c_str());
    text = std::move(found->get_ref<std::string&>());
    return {};
  }

  LineReader lines_;
  std::string source_, target_, line_;
};

}  // namespace

Result<PairReaderPtr> read_jsonl_pairs(const std::string& path, const std::string& source_name,
                                       const std::string& target_name) {
  TENON_ASSIGN(LineReader lines, LineReader::open(path));
  return PairReaderPtr(new JsonLinePairs(std::move(lines), source_name, target_name));
}

}  // namespace tenon
