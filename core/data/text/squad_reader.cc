// SQuAD's JSON, parsed as it comes: no tree is made of it.
#include <algorithm>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <streambuf>

#include "base/caught.h"
#include "base/file/file.h"
#include "base/strings.h"
#include "tenon/answers.h"

namespace tenon {
namespace {

constexpr size_t kJsonPieceBytes = 64 << 10;

// A file by pieces. Ends early where the file cannot be read, or where nothing was taken for too long.
class FileBytes : public std::streambuf {
 public:
  explicit FileBytes(File file) : file_(std::move(file)), piece_(kJsonPieceBytes, '\0') { file_.advise_sequential(); }

  const Status& status() const { return status_; }
  bool ended() const { return ended_; }  // the file did, without a mistake
  // What is read from here on counts anew.
  void begin_part() { part_ = position(); }

 protected:
  int_type underflow() override {
    if (!status_.ok()) return traits_type::eof();
    if (offset_ - part_ > kMaxPassageBytes)
      return refuse(
          invalid(file_.path(), ": a paragraph, or another value, of more than ", kMaxPassageBytes, " bytes"));
    const Result<size_t> got = file_.read_at(offset_, piece_.data(), piece_.size());
    if (!got.ok()) return refuse(got.status());
    offset_ += static_cast<int64_t>(*got);
    ended_ = *got == 0;
    setg(piece_.data(), piece_.data(), piece_.data() + *got);
    return *got > 0 ? traits_type::to_int_type(piece_[0]) : traits_type::eof();
  }

 private:
  int64_t position() const { return offset_ - (egptr() - gptr()); }
  int_type refuse(Status status) {
    status_ = std::move(status);
    return traits_type::eof();
  }

  File file_;
  std::string piece_;
  int64_t offset_ = 0, part_ = 0;
  bool ended_ = false;
  Status status_;
};

// Characters of a text by their number: every 64th one's byte is known.
class CharacterPlaces {
 public:
  explicit CharacterPlaces(std::string_view text) : text_(text) {
    for (size_t at = 0; at < text.size(); at += utf8_sequence(text.substr(at)))
      if (count_++ % kDistance == 0) bytes_.push_back(at);
  }
  int64_t count() const { return count_; }
  // REQUIRED: 0 <= character < count().
  size_t byte_of(int64_t character) const {
    size_t at = bytes_[static_cast<size_t>(character / kDistance)];
    for (int64_t i = character % kDistance; i > 0; --i) at += utf8_sequence(text_.substr(at));
    return at;
  }

 private:
  static constexpr int64_t kDistance = 64;
  std::string_view text_;
  std::vector<size_t> bytes_;
  int64_t count_ = 0;
};

enum class Kind : uint8_t { kNull, kBoolean, kInteger, kFraction, kText, kList, kObject };
constexpr const char* kKindNames[] = {"null",   "true or false", "a whole number", "a number with a fraction",
                                      "a text", "a list",        "an object"};

enum class Place : uint8_t {
  kOutside,
  kFile,
  kArticles,
  kArticle,
  kPassages,
  kPassage,
  kQuestions,
  kQuestion,
  kAnswers,
  kAnswer
};

// What is read of each object, and the elements of lists, which have no name.
enum Row : uint8_t {
  kRoot,
  kData,
  kArticleRow,
  kParagraphs,
  kParagraph,
  kContext,
  kQas,
  kQuestionRow,
  kId,
  kText,
  kIsImpossible,
  kAnswersRow,
  kAnswerRow,
  kAnswerText,
  kAnswerStart,
  kRows
};
struct Member {
  Place in;
  std::string_view name;
  Kind kind;
  Place opens;  // of lists and objects
  bool required;
};
constexpr Member kMembers[kRows] = {
    {Place::kOutside, "", Kind::kObject, Place::kFile, false},
    {Place::kFile, "data", Kind::kList, Place::kArticles, true},
    {Place::kArticles, "", Kind::kObject, Place::kArticle, false},
    {Place::kArticle, "paragraphs", Kind::kList, Place::kPassages, true},
    {Place::kPassages, "", Kind::kObject, Place::kPassage, false},
    {Place::kPassage, "context", Kind::kText, {}, true},
    {Place::kPassage, "qas", Kind::kList, Place::kQuestions, true},
    {Place::kQuestions, "", Kind::kObject, Place::kQuestion, false},
    {Place::kQuestion, "id", Kind::kText, {}, true},
    {Place::kQuestion, "question", Kind::kText, {}, true},
    {Place::kQuestion, "is_impossible", Kind::kBoolean, {}, false},
    {Place::kQuestion, "answers", Kind::kList, Place::kAnswers, false},
    {Place::kAnswers, "", Kind::kObject, Place::kAnswer, false},
    {Place::kAnswer, "text", Kind::kText, {}, true},
    {Place::kAnswer, "answer_start", Kind::kInteger, {}, true},
};

class SquadParser : public nlohmann::json_sax<nlohmann::json> {
 public:
  SquadParser(const std::string& path, FileBytes& bytes, const std::function<Status(Passage&)>& each)
      : path_(path), bytes_(bytes), each_(each) {}
  const Status& status() const { return status_; }

  bool null() override {
    return value(Kind::kNull, [](Row) {});
  }
  bool boolean(bool is) override {
    return value(Kind::kBoolean, [&](Row) { question().is_impossible = is; });
  }
  bool number_integer(number_integer_t number) override {
    return value(Kind::kInteger, [&](Row) { starts_.push_back(number); });
  }
  bool number_unsigned(number_unsigned_t number) override {
    constexpr auto kMost = static_cast<number_unsigned_t>(std::numeric_limits<int64_t>::max());
    return number_integer(static_cast<number_integer_t>(std::min(number, kMost)));
  }
  bool number_float(number_float_t, const string_t&) override {
    return value(Kind::kFraction, [](Row) {});
  }
  bool binary(binary_t&) override { return error("has binary data"); }
  bool string(string_t& text) override {
    return value(Kind::kText, [&](Row row) {
      std::string& to = row == kContext ? passage_.context
                        : row == kId    ? question().id
                        : row == kText  ? question().text
                                        : question().answers.back().text;
      to = std::move(text);
    });
  }

  bool start_object(size_t) override { return open(Kind::kObject); }
  bool start_array(size_t) override { return open(Kind::kList); }
  bool key(string_t& name) override {
    if (skipped_ == 0) levels_.back().key = std::move(name);
    return true;
  }
  bool end_array() override {
    close();
    return true;
  }
  bool end_object() override {
    if (skipped_ > 0) return close(), true;
    const Level ended = levels_.back();
    close();
    for (size_t row = 0; row < kRows; ++row)
      if (kMembers[row].in == ended.place && kMembers[row].required && !(ended.seen >> row & 1))
        return error(cat(where(), " has no '", kMembers[row].name, "'"));
    return ended.place != Place::kPassage || give();
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    const bool is_cut = position > 1 && bytes_.ended();  // it asks for no byte behind one that is wrong
    return error(cat("no valid JSON in UTF-8 at its byte ", position, is_cut ? ": it ends in the middle" : ""));
  }

 private:
  struct Level {
    Place place = Place::kOutside;
    std::string key;     // of an object, the member that is being read
    int64_t index = -1;  // of a list, the element
    unsigned seen = 0;   // rows of kMembers
  };

  bool error(const std::string& what) {
    status_ = invalid(path_, ": ", what);
    return false;
  }
  // "data[0].paragraphs"
  std::string where() const {
    std::string out;
    for (const Level& level : levels_)
      if (level.index >= 0)
        out += cat("[", level.index, "]");
      else
        out += cat(out.empty() ? "" : ".", abbreviated(level.key));
    return out.empty() ? "the file" : out;
  }
  bool in_passage() const { return levels_.size() > 4; }  // file, articles, article, paragraphs
  Question& question() { return passage_.questions.back(); }

  // Which row of kMembers the next value is; kRows: none.
  Row row_of() const {
    const Place in = levels_.empty() ? Place::kOutside : levels_.back().place;
    const std::string_view name = levels_.empty() ? std::string_view() : levels_.back().key;
    for (size_t row = 0; row < kRows; ++row)
      if (kMembers[row].in == in && kMembers[row].name == name) return static_cast<Row>(row);
    return kRows;
  }

  // A value that begins: `take` gets its row where it is wanted.
  template <class Take>
  bool value(Kind found, const Take& take) {
    if (!in_passage()) bytes_.begin_part();
    if (skipped_ > 0) return true;
    const Row row = row_of();
    if (row == kRows) return true;
    if (!kMembers[row].name.empty()) {
      if (levels_.back().seen >> row & 1) return error(cat(where(), " stands there twice"));
      levels_.back().seen |= 1u << row;
    } else if (!levels_.empty()) {
      ++levels_.back().index;
    }
    if (found != kMembers[row].kind)
      return error(cat(where(), " is ", kKindNames[static_cast<size_t>(found)], ", expected ",
                       kKindNames[static_cast<size_t>(kMembers[row].kind)]));
    take(row);
    return true;
  }

  bool open(Kind kind) {
    const Row row = skipped_ > 0 ? kRows : row_of();
    if (row == kRows) ++skipped_;
    return value(kind, [&](Row wanted) {
      levels_.push_back({kMembers[wanted].opens, {}, -1, 0});
      if (wanted == kParagraph) passage_ = {}, starts_.clear();
      if (wanted == kQuestionRow) passage_.questions.emplace_back();
      if (wanted == kAnswerRow) question().answers.emplace_back();
    });
  }
  void close() {
    if (skipped_ > 0)
      --skipped_;
    else
      levels_.pop_back();
    if (!in_passage()) bytes_.begin_part();
  }

  // A paragraph is complete: questions may stand before the context.
  bool give() {
    passage_.where = where();
    const CharacterPlaces places(passage_.context);
    size_t next = 0;
    for (size_t q = 0; q < passage_.questions.size(); ++q)
      for (size_t a = 0; a < passage_.questions[q].answers.size(); ++a) {
        const int64_t start = starts_[next++];
        if (start < 0 || start >= places.count())
          return error(cat(passage_.where, ".qas[", q, "].answers[", a, "].answer_start is ", start,
                           ", expected a place in the ", places.count(), " characters of the context"));
        passage_.questions[q].answers[a].begin = places.byte_of(start);
      }
    status_ = each_(passage_);
    return status_.ok();
  }

  const std::string& path_;
  FileBytes& bytes_;
  const std::function<Status(Passage&)>& each_;
  Status status_;
  std::vector<Level> levels_;
  int64_t skipped_ = 0;  // open lists and objects of a member that is passed over
  Passage passage_;
  std::vector<int64_t> starts_;  // of its answers, in order
};

}  // namespace

Status read_squad(const std::string& path, const std::function<Status(Passage& passage)>& each) {
  return caught([&]() -> Status {
    TENON_ASSIGN(File file, File::open(path));
    FileBytes bytes(std::move(file));
    std::istream stream(&bytes);
    SquadParser parser(path, bytes, each);
    const bool good = nlohmann::json::sax_parse(stream, &parser);
    TENON_TRY(bytes.status());
    return good ? Status() : parser.status();
  });
}

}  // namespace tenon
