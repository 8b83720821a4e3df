#include "tenon/subtokenizer.h"

#include <algorithm>
#include <atomic>

#include "base/caught.h"
#include "base/crc32c.h"
#include "base/file/file.h"
#include "base/strings.h"
#include "text/subtoken_splitter.h"
#include "text/subtokens.h"
#include "text/token_cache.h"
#include "text/unicode.h"

namespace tenon {
namespace {

constexpr int64_t kMaxVocabularyBytes = int64_t{256} << 20;

bool is_reserved(std::string_view subtoken) {
  return std::find(std::begin(subtokens::kReserved), std::end(subtokens::kReserved), subtoken) !=
         std::end(subtokens::kReserved);
}

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

struct Subtokenizer::Impl {
  const uint64_t number = next_number();
  std::vector<std::string> subtokens;
  subtokens::Alphabet alphabet;
  subtokens::Splitter splitter;
  uint32_t fingerprint = 0;

  Status add(const std::string& subtoken);
  Status check_alphabet() const;
  void encode_token(std::u32string_view token, std::u32string& escaped, std::vector<int32_t>& ids) const;
  void locate_token(std::u32string_view token, size_t begin, std::vector<int32_t>& ids, std::vector<Part>& parts) const;
};

Status Subtokenizer::Impl::add(const std::string& subtoken) {
  std::u32string characters;
  if (!unicode::decode(subtoken, characters)) return invalid("subtoken '", abbreviated(subtoken), "' is no UTF-8");
  if (characters.empty()) return invalid("an empty subtoken");
  if (characters.find(U'\n') != std::u32string::npos)
    return invalid("subtoken '", abbreviated(subtoken), "' has a line end");
  if (splitter.has(characters)) return invalid("subtoken '", abbreviated(subtoken), "' is there twice");
  splitter.add(characters, static_cast<int32_t>(subtokens.size()));
  alphabet.add(characters);
  fingerprint = crc32c_extend(crc32c_extend(fingerprint, subtoken.data(), subtoken.size()), "\n", 1);
  subtokens.push_back(subtoken);
  return {};
}

// Only then can every text be written.
Status Subtokenizer::Impl::check_alphabet() const {
  for (const char32_t c : alphabet.all())
    if (!splitter.has({&c, 1}))
      return invalid("character '", unicode::encode({&c, 1}),
                     "' is no subtoken by itself, expected that of every character");
  return {};
}

void Subtokenizer::Impl::encode_token(std::u32string_view token, std::u32string& escaped,
                                      std::vector<int32_t>& ids) const {
  using subtokens::TokenCache;
  TokenCache& cache = TokenCache::of_thread();
  const bool is_short = token.size() <= TokenCache::kMostCharacters;
  if (const std::span<const int32_t> known = is_short ? cache.find(number, token) : std::span<const int32_t>();
      !known.empty()) {
    ids.insert(ids.end(), known.begin(), known.end());
    return;
  }
  const size_t begin = ids.size();
  escaped.clear();
  subtokens::escape(token, alphabet, escaped);
  for (std::u32string_view rest = escaped; !rest.empty();) {
    const subtokens::Splitter::Match match = splitter.longest(rest);
    ids.push_back(match.id);
    rest.remove_prefix(match.length);
  }
  if (is_short) cache.put(number, token, std::span(ids).subspan(begin));
}

// The token begins at byte `begin` of the text.
void Subtokenizer::Impl::locate_token(std::u32string_view token, size_t begin, std::vector<int32_t>& ids,
                                      std::vector<Part>& parts) const {
  std::u32string escaped;
  std::vector<Part> from;  // of each character of `escaped`
  size_t at = begin;
  for (const char32_t c : token) {
    const size_t end = at + unicode::encode({&c, 1}).size();
    subtokens::escape_character(c, alphabet, escaped);
    from.resize(escaped.size(), {at, end});
    at = end;
  }
  escaped += U'_';
  from.push_back({at, at});
  for (size_t first = 0; first < escaped.size();) {
    const subtokens::Splitter::Match match = splitter.longest(std::u32string_view(escaped).substr(first));
    ids.push_back(match.id);
    parts.push_back({from[first].begin, from[first + match.length - 1].end});
    first += match.length;
  }
}

Result<Subtokenizer> Subtokenizer::from_subtokens(std::vector<std::string> subtokens) {
  return caught([&]() -> Result<Subtokenizer> {
    auto impl = std::make_shared<Impl>();
    for (const char* reserved : subtokens::kReserved) TENON_TRY(impl->add(reserved));
    for (const std::string& s : subtokens)
      if (!is_reserved(s)) TENON_TRY(impl->add(s));
    TENON_TRY(impl->check_alphabet());
    impl->splitter.finish();
    return Subtokenizer(std::move(impl));
  });
}

Result<Subtokenizer> Subtokenizer::load(const std::string& path) {
  return caught([&]() -> Result<Subtokenizer> {
    TENON_ASSIGN(const std::string text, read_file(path, kMaxVocabularyBytes));
    std::vector<std::string> subtokens;
    int64_t number = 0;
    for (std::string_view rest = text; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = trimmed(rest.substr(0, end));
      ++number;
      if (line.size() < 3 || line.front() != '\'' || line.back() != '\'')
        return invalid(path, ":", number, ": expected a subtoken between single quotes, found '", abbreviated(line),
                       "'");
      subtokens.emplace_back(line.substr(1, line.size() - 2));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    Result<Subtokenizer> made = from_subtokens(std::move(subtokens));
    return made.ok() ? made : Status(made.status().code(), cat(path, ": ", made.status().message()));
  });
}

Status Subtokenizer::save(const std::string& path) const { return atomic_write(path, text()); }

std::string Subtokenizer::text() const {
  std::string out;
  for (const std::string& s : impl_->subtokens) out += cat("'", s, "'\n");
  return out;
}

int64_t Subtokenizer::size() const { return static_cast<int64_t>(impl_->subtokens.size()); }
const std::string& Subtokenizer::subtoken(int32_t id) const { return impl_->subtokens[static_cast<size_t>(id)]; }
uint32_t Subtokenizer::fingerprint() const { return impl_->fingerprint; }

std::string Subtokenizer::cleaned(std::string_view line) {
  std::string out(unicode::stripped(line));
  const auto controls = [](char c) { return (c > '\0' && c < ' ') || c == '\x7f'; };
  std::replace_if(out.begin(), out.end(), controls, ' ');
  return out;
}

Status Subtokenizer::encode(std::string_view text, std::vector<int32_t>& ids) const {
  thread_local std::u32string characters, escaped;
  characters.clear();
  if (!unicode::decode(text, characters)) return invalid("text is no UTF-8");
  subtokens::for_each_token(characters, [&](std::u32string_view token) { impl_->encode_token(token, escaped, ids); });
  return {};
}

Status Subtokenizer::encode(std::string_view text, std::vector<int32_t>& ids, std::vector<Part>& parts) const {
  std::u32string characters;
  if (!unicode::decode(text, characters)) return invalid("text is no UTF-8");
  size_t character = 0, byte = 0;
  subtokens::for_each_token(characters, [&](std::u32string_view token) {
    for (const auto begin = static_cast<size_t>(token.data() - characters.data()); character < begin; ++character)
      byte += utf8_sequence(text.substr(byte));
    impl_->locate_token(token, byte, ids, parts);
  });
  return {};
}

std::string Subtokenizer::decode(std::span<const int32_t> ids) const {
  std::u32string escaped;
  for (const int32_t id : ids)
    if (id >= 0 && id < size()) unicode::decode(subtoken(id), escaped);
  std::string out;
  bool was_alphanumeric = false;
  for (std::u32string_view rest = escaped; !rest.empty();) {
    const size_t end = std::min(rest.find(U'_'), rest.size());
    if (const std::u32string token = subtokens::unescape(rest.substr(0, end)); !token.empty()) {
      const bool is_alphanumeric = unicode::is_alphanumeric(token[0]);
      if (was_alphanumeric && is_alphanumeric) out += ' ';
      out += unicode::encode(token);
      was_alphanumeric = is_alphanumeric;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

}  // namespace tenon
