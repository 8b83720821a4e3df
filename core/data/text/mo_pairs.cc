// Compiled gettext catalogues. Source: "The Format of GNU MO Files" in gettext's manual.
#include <iconv.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <memory>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/text/pair_reader.h"

namespace tenon {
namespace {

constexpr uint32_t kMagic = 0x950412de;
constexpr uint32_t kMaxStringBytes = 1 << 20;
constexpr char kEndOfContext = '\x04';

// From a character set to UTF-8.
class Recoding {
 public:
  // Names are those of the C library's iconv.
  bool open(const std::string& charset) {
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
    };
    if (charset.empty() || charset.size() > 32 || !std::all_of(charset.begin(), charset.end(), is_plain)) return false;
    const iconv_t found = ::iconv_open("UTF-8", charset.c_str());
    if (found == reinterpret_cast<iconv_t>(-1)) return false;
    state_ = {found, [](iconv_t state) { ::iconv_close(state); }};
    return true;
  }
  // What is no text of the set stays as it is.
  void recode(std::string& text) const {
    if (!state_) return;
    std::string out(text.size() * 4 + 4, '\0');
    char *from = text.data(), *to = out.data();
    size_t left = text.size(), room = out.size();
    ::iconv(state_.get(), nullptr, nullptr, nullptr, nullptr);
    if (::iconv(state_.get(), &from, &left, &to, &room) == static_cast<size_t>(-1)) return;
    out.resize(out.size() - room);
    text.swap(out);
  }

 private:
  std::shared_ptr<void> state_;
};

// Where the one mark in front of a letter or number is, as toolkits mark a label's key ("_Save", "Save &as"); npos: none, or several.
size_t mnemonic(const std::string& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos || at + 1 == text.size() || text.find(mark, at + 1) != std::string::npos)
    return std::string::npos;
  const auto next = static_cast<unsigned char>(text[at + 1]);
  return std::isalnum(next) != 0 || next >= 0x80 ? at : std::string::npos;
}

std::string_view word_at(std::string_view text, size_t at) {
  const size_t before = text.rfind(' ', at), begin = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(begin, text.find(' ', at) - begin);
}

// Marks of keys on both sides are no text; within a word that is the same on both ("max_size", "R&D") and in "&amp;" they are.
void drop_mnemonic(TextPair& pair, char mark) {
  const size_t source = mnemonic(pair.source, mark), target = mnemonic(pair.target, mark);
  if (source == std::string::npos || target == std::string::npos) return;
  const std::string_view word = word_at(pair.source, source);
  const bool begins_word = source == 0 || pair.source[source - 1] == ' ';
  if (word.find(';') != std::string_view::npos || (!begins_word && word == word_at(pair.target, target))) return;
  pair.source.erase(source, 1);
  pair.target.erase(target, 1);
}

class MoPairs : public PairReader {
 public:
  explicit MoPairs(File file) : file_(std::move(file)) {}

  Status read_head() {
    uint32_t head[5];
    if (file_.size() < static_cast<int64_t>(sizeof head)) return damaged("too short for a head of 20 bytes");
    TENON_TRY(file_.read_exactly_at(0, head, sizeof head));
    if (head[0] != kMagic && byte_swapped(head[0]) != kMagic)
      return damaged("expected a compiled catalogue, found other first bytes");
    swapped_ = head[0] != kMagic;
    const uint32_t version = number(head[1]);
    if (version >> 16 > 1) return damaged(cat("version ", version >> 16, ", expected 0 or 1"));
    count_ = number(head[2]), originals_ = number(head[3]), translations_ = number(head[4]);
    for (const uint64_t table : {originals_, translations_})
      if (table + uint64_t{count_} * 8 > static_cast<uint64_t>(file_.size()))
        return damaged(
            cat("cut off: a table of ", count_, " strings at ", table, " ends behind its ", file_.size(), " bytes"));
    return {};
  }

  Result<bool> read(TextPair& pair) override {
    while (at_ < count_) {
      const uint32_t i = at_++;
      TENON_TRY(read_string(originals_ + uint64_t{i} * 8, pair.source));
      TENON_TRY(read_string(translations_ + uint64_t{i} * 8, pair.target));
      if (pair.source.empty()) {
        TENON_TRY(read_charset(pair.target));
        continue;
      }
      pair.source.erase(0, pair.source.find(kEndOfContext) + 1);  // npos + 1: nothing
      for (std::string* text : {&pair.source, &pair.target}) {
        text->resize(std::min(text->find('\0'), text->size()));
        recoding_.recode(*text);
      }
      for (const char mark : {'_', '&'}) drop_mnemonic(pair, mark);
      return true;
    }
    return false;
  }
  int64_t position() const override { return at_; }
  std::string where(int64_t position) const override { return cat(file_.path(), ": message ", position); }

 private:
  Status damaged(const std::string& what) const { return invalid(file_.path(), ": ", what); }
  static uint32_t byte_swapped(uint32_t x) { return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24; }
  // In a file of this machine's byte order or the other; all of Tenon's machines are little-endian.
  uint32_t number(uint32_t raw) const { return swapped_ ? byte_swapped(raw) : raw; }

  Status read_string(uint64_t entry, std::string& out) {
    uint32_t raw[2];
    TENON_TRY(file_.read_exactly_at(static_cast<int64_t>(entry), raw, sizeof raw));
    const uint32_t bytes = number(raw[0]), offset = number(raw[1]);
    if (uint64_t{offset} + bytes > static_cast<uint64_t>(file_.size()))
      return damaged(
          cat("cut off: message ", at_, " has ", bytes, " bytes at ", offset, ", the file ends at ", file_.size()));
    if (bytes > kMaxStringBytes)
      return damaged(cat("message ", at_, " has ", bytes, " bytes, expected at most ", kMaxStringBytes));
    given_ += bytes;
    if (given_ > static_cast<uint64_t>(file_.size()))
      return damaged("its messages have more bytes than the file: they overlap");
    out.resize(bytes);
    return file_.read_exactly_at(offset, out.data(), bytes);
  }

  // The translation of nothing is the catalogue's head.
  Status read_charset(std::string_view head) {
    constexpr std::string_view kKey = "charset=";
    const size_t key = head.find(kKey);
    if (key == std::string_view::npos) return {};
    const std::string_view rest = head.substr(key + kKey.size());
    std::string charset(rest.substr(0, std::min(rest.find_first_of(" \n;"), rest.size())));
    for (char& c : charset) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (charset == "utf-8" || charset == "utf8" || charset == "us-ascii" || charset == "ascii") return {};
    if (recoding_.open(charset)) return {};
    return damaged(cat("its text is in ", abbreviated(charset),
                       ", which iconv does not know; msgconv --to-code=UTF-8 makes it UTF-8"));
  }

  File file_;
  Recoding recoding_;
  bool swapped_ = false;
  uint32_t count_ = 0, at_ = 0;
  uint64_t originals_ = 0, translations_ = 0;  // where the tables of their strings are
  uint64_t given_ = 0;                         // bytes of all strings that were read
};

}  // namespace

Result<PairReaderPtr> read_mo_pairs(const std::string& path) {
  TENON_ASSIGN(File file, File::open(path));
  auto reader = std::make_unique<MoPairs>(std::move(file));
  TENON_TRY(reader->read_head());
  return PairReaderPtr(std::move(reader));
}

}  // namespace tenon
