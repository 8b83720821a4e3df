// Translation memories, read by expat a piece at a time.
#include <expat.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <type_traits>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/text/pair_reader.h"

namespace tenon {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kMaxSegmentBytes = size_t{1} << 20;
constexpr int64_t kMaxTagBytes = int64_t{1} << 20;  // or of a comment: expat holds all of it
constexpr int kMaxDepth = 256;
constexpr size_t kMostLanguages = 20;  // that a message names

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

// Whether a tag such as "en-US" is of the language "en".
bool is_language(const std::string& tag, const std::string& language) {
  return tag == language || (tag.starts_with(language) && (tag[language.size()] == '-' || tag[language.size()] == '_'));
}

bool is_code(std::string_view element) {
  constexpr std::string_view kCodes[] = {"bpt", "ept", "it", "ph", "sub", "ut"};
  return std::find(std::begin(kCodes), std::end(kCodes), element) != std::end(kCodes);
}

class TmxPairs : public PairReader {
 public:
  TmxPairs(File file, const std::string& source, const std::string& target)
      : file_(std::move(file)), source_(lower(source)), target_(lower(target)), parser_(XML_ParserCreate(nullptr)) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(), [](void* me, const char* name, const char** attributes) { self(me).begin(name, attributes); },
        [](void* me, const char* name) { self(me).end(name); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* me, const char* text, int bytes) {
      self(me).add(std::string_view(text, static_cast<size_t>(bytes)));
    });
    XML_SetEntityDeclHandler(parser_.get(), [](void* me, const char* name, int, const char*, int, const char*,
                                               const char*, const char*, const char*) {
      self(me).refuse(cat("defines the entity '", abbreviated(name), "', which is not expanded"));
    });
  }

  Result<bool> read(TextPair& pair) override {
    while (found_.empty() && !ended_) TENON_TRY(parse_piece());
    if (found_.empty()) return false;
    pair = std::move(found_.front().first);
    line_ = found_.front().second;
    found_.pop_front();
    return true;
  }
  int64_t position() const override { return line_; }
  std::string where(int64_t position) const override { return cat(file_.path(), ":", position); }

 private:
  static TmxPairs& self(void* me) { return *static_cast<TmxPairs*>(me); }
  int64_t line() const { return static_cast<int64_t>(XML_GetCurrentLineNumber(parser_.get())); }

  Status parse_piece() {
    void* buffer = XML_GetBuffer(parser_.get(), kPieceBytes);
    if (!buffer) return Status(Code::kOutOfMemory, cat(file_.path(), ": no memory to read it"));
    TENON_ASSIGN(const size_t bytes, file_.read_at(offset_, buffer, kPieceBytes));
    offset_ += static_cast<int64_t>(bytes);
    ended_ = bytes == 0;
    const bool good = XML_ParseBuffer(parser_.get(), static_cast<int>(bytes), ended_) == XML_STATUS_OK;
    if (!refused_.empty()) return invalid(file_.path(), ":", refused_line_, ": ", refused_);
    if (!good) return invalid(file_.path(), ":", line(), ": ", XML_ErrorString(XML_GetErrorCode(parser_.get())));
    if (offset_ - XML_GetCurrentByteIndex(parser_.get()) > kMaxTagBytes)
      return invalid(file_.path(), ":", line(), ": a tag of more than ", kMaxTagBytes, " bytes");
    if (ended_ && !is_tmx_) return invalid(file_.path(), ": expected a translation memory, found no <tmx> in it");
    return ended_ ? check_languages() : Status();
  }

  // A file of which nothing is taken is a mistake.
  Status check_languages() const {
    for (const std::string& wanted : {source_, target_}) {
      const auto is_wanted = [&](const std::string& tag) { return is_language(tag, wanted); };
      if (languages_.empty() || std::any_of(languages_.begin(), languages_.end(), is_wanted)) continue;
      std::string all;
      for (const std::string& tag : languages_) append_item(all, tag.empty() ? "none" : abbreviated(tag));
      return invalid(file_.path(), ": expected texts of language '", wanted, "', found those of ", all);
    }
    return {};
  }

  void refuse(std::string why) {
    if (refused_.empty()) refused_ = std::move(why), refused_line_ = line();
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void begin(std::string_view element, const char** attributes) {
    if (++depth_ > kMaxDepth) return refuse(cat("elements within more than ", kMaxDepth, " others"));
    if (element == "tmx") is_tmx_ = true;
    if (element == "tu") pair_ = {}, has_source_ = has_target_ = false, unit_line_ = line();
    if (element == "tuv") begin_variant(attributes);
    if (element == "seg" && into_) in_segment_ = true;
    if (in_segment_ && is_code(element)) ++codes_;
  }

  void begin_variant(const char** attributes) {
    std::string language;
    for (; *attributes; attributes += 2)
      if (const std::string_view name = attributes[0]; name == "xml:lang" || name == "lang")
        language = lower(attributes[1]);
    into_ = nullptr;
    const bool known = is_language(language, source_) || is_language(language, target_);
    if (known || languages_.size() < kMostLanguages) languages_.insert(language);
    if (is_language(language, source_) && !has_source_)
      into_ = &pair_.source, has_source_ = true;
    else if (is_language(language, target_) && !has_target_)
      into_ = &pair_.target, has_target_ = true;
  }

  void end(std::string_view element) {
    --depth_;
    if (in_segment_ && is_code(element)) --codes_;
    if (element == "seg") in_segment_ = false;
    if (element == "tuv") into_ = nullptr;
    if (element == "tu" && has_source_ && has_target_) found_.emplace_back(std::move(pair_), unit_line_);
  }

  void add(std::string_view text) {
    if (!in_segment_ || !into_ || codes_ > 0) return;
    if (into_->size() + text.size() > kMaxSegmentBytes)
      return refuse(cat("a segment of more than ", kMaxSegmentBytes, " bytes"));
    *into_ += text;
  }

  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  File file_;
  std::string source_, target_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  int64_t offset_ = 0;
  bool ended_ = false, is_tmx_ = false;
  std::set<std::string> languages_;  // of its texts, the first ones

  TextPair pair_;  // of the unit that is being read
  bool has_source_ = false, has_target_ = false, in_segment_ = false;
  int depth_ = 0;                // open elements
  int codes_ = 0;                // open ones within the segment
  std::string* into_ = nullptr;  // a text of the pair, or none
  int64_t unit_line_ = 0;
  std::deque<std::pair<TextPair, int64_t>> found_;  // by the last piece, with their lines
  int64_t line_ = 0;

  std::string refused_;
  int64_t refused_line_ = 0;
};

}  // namespace

Result<PairReaderPtr> read_tmx_pairs(const std::string& path, const std::string& source_language,
                                     const std::string& target_language) {
  TENON_ASSIGN(File file, File::open(path));
  return PairReaderPtr(new TmxPairs(std::move(file), source_language, target_language));
}

}  // namespace tenon
