// Text to numbers and back by a subtoken vocabulary, as TensorFlow's Transformer has it (vocab.ende.32768).
//
//   Subtokenizer words = Subtokenizer::load("vocab.ende.32768").take();
//   std::vector<int32_t> ids;
//   check(words.encode("Hello, world.", ids));            // EOS is not among them
//   std::string again = words.decode(ids);                // "Hello, world."
//
// Text is cut where letters and numbers (Unicode's categories L and N) meet other characters; a single blank between
// two such pieces is left out. Each piece, with what the vocabulary's alphabet lacks as \NUMBER; and an underline at
// its end, becomes the longest subtokens that the vocabulary has, from left to right.
//
// A vocabulary's file has one subtoken a line, between single quotes; "<pad>" and "<EOS>" come first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// Immutable; a copy is a handle to the same. Thread safe.
class Subtokenizer {
 public:
  static constexpr int32_t kPad = 0, kEos = 1;

  // Errors name the file, and the line where there is one.
  static Result<Subtokenizer> load(const std::string& path);
  // As if a file had these, in this order; "<pad>" and "<EOS>" are put in front. kInvalid when one is there twice, has
  // a line end, or has a character that is no subtoken by itself: then not every text could be written with them.
  static Result<Subtokenizer> from_subtokens(std::vector<std::string> subtokens);
  // Replaces the file whole or not at all.
  Status save(const std::string& path) const;
  std::string text() const;  // what save() writes

  int64_t size() const;                           // "<pad>" and "<EOS>" among them
  const std::string& subtoken(int32_t id) const;  // REQUIRED: 0 <= id < size()
  // Equal for equal vocabularies.
  uint32_t fingerprint() const;

  // The line as converters of sentences encode it: without the spaces around it (Python's str.strip), a blank in the
  // place of each control character but NUL.
  static std::string cleaned(std::string_view line);
  // Appends the ids of `text`. kInvalid when it is no UTF-8; then nothing is appended.
  Status encode(std::string_view text, std::vector<int32_t>& ids) const;
  // The same, and for each id the bytes of `text` that it stands for. They rise; a character that the vocabulary writes
  // with several subtokens belongs to each of them, an underline at the end of a piece, where it is a subtoken by
  // itself, has none, and a blank that is left out belongs to nobody.
  struct Part {
    size_t begin = 0, end = 0;
  };
  Status encode(std::string_view text, std::vector<int32_t>& ids, std::vector<Part>& parts) const;
  // Ids that the vocabulary does not have are left out; \NUMBER; of what is no character becomes U+3013.
  std::string decode(std::span<const int32_t> ids) const;

 private:
  struct Impl;
  explicit Subtokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// How often each piece of a text is there: what a vocabulary is made from.
class TokenCounts {
 public:
  TokenCounts();
  ~TokenCounts();
  TokenCounts(TokenCounts&&) noexcept;
  TokenCounts& operator=(TokenCounts&&) noexcept;

  // Leaves out blanks around the line and gives the characters of what remains. kInvalid when it is no UTF-8.
  Result<int64_t> add(std::string_view line);
  // Lines of a file that are spread evenly over it, about `characters` of them.
  Status add_sample(const std::string& path, int64_t characters = kSampleCharacters);
  static constexpr int64_t kSampleCharacters = 1'000'000;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Chooses lines of a text of so many bytes that are spread evenly over it, about `characters` of them.
class LineSampler {
 public:
  LineSampler(TokenCounts& counts, int64_t text_bytes, int64_t characters = TokenCounts::kSampleCharacters)
      : counts_(counts), skip_(text_bytes / (characters * 2)), left_(characters) {}
  // Counts the line, or passes over it. kInvalid when it is no UTF-8.
  Status add(std::string_view line);
  bool full() const { return left_ < 0; }

 private:
  TokenCounts& counts_;
  int64_t skip_, left_, skipped_ = 0;
};

struct SubtokenOptions {
  int64_t target_size = 32768;
  int64_t threshold = 327;  // how far from target_size is near enough
  int64_t min_count = 0;    // how often a subtoken has to be there; 0: the one that comes nearest to target_size
  std::function<bool()> interrupted = {};  // asked now and then; true ends it with kInterrupted
};
// The vocabulary that these counts give, most frequent subtokens first.
Result<Subtokenizer> build_subtokens(const TokenCounts& counts, const SubtokenOptions& options = {});

}  // namespace tenon
