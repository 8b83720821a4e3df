// Questions whose answer is a part of a text, as SQuAD has them: read from its JSON, cut into windows of tokens that a
// model can take, and found again in what the model says of each token.
//
//   check(read_squad("train.json", [&](Passage& passage) -> Status {
//     TENON_ASSIGN(const LocatedTokens context, locate_tokens(words, passage.context));
//     ...
//   }));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"
#include "tenon/subtokenizer.h"

namespace tenon {

struct Answer {
  std::string text;
  size_t begin = 0;  // the byte of the context at which it is said to stand; nothing says that it does
};
struct Question {
  std::string id, text;
  std::vector<Answer> answers;
  bool is_impossible = false;  // the context has no answer
};
struct Passage {
  std::string context;
  std::vector<Question> questions;
  std::string where;  // "data[0].paragraphs[12]"
};

// Calls `each` with every paragraph of a file of SQuAD's form, version 1.1 or 2.0, in order; `each` may take what it is
// given. An error names the file and the member; that of `each` ends it. Memory does not grow with the file: a
// paragraph has at most kMaxPassageBytes. Other members than SQuAD's are passed over.
inline constexpr int64_t kMaxPassageBytes = int64_t{4} << 20;
Status read_squad(const std::string& path, const std::function<Status(Passage& passage)>& each);

// A text as subtokens, each with its place.
struct LocatedTokens {
  std::vector<int32_t> ids;
  std::vector<Subtokenizer::Part> parts;
};
Result<LocatedTokens> locate_tokens(const Subtokenizer& words, std::string_view text);

// First and last token.
struct TokenSpan {
  size_t first = 0, last = 0;
  bool operator==(const TokenSpan&) const = default;
};
// Those that hold the bytes from `begin` to `end`; nothing where no token does.
std::optional<TokenSpan> tokens_of(const LocatedTokens& text, size_t begin, size_t end);

// What a model is asked: the question, <EOS>, a part of the context, <EOS>. Of a longer context several parts, each
// doc_stride tokens behind the one before; of a question the first max_length / 2 tokens.
struct WindowOptions {
  int64_t max_length = 384, doc_stride = 128;
};
struct AnswerWindow {
  std::vector<int32_t> inputs;
  size_t context_at = 0;      // where in `inputs` the context begins
  size_t begin = 0, end = 0;  // its tokens: of all the context's
  // Where in `inputs` the span is; nothing where the window does not hold all of it.
  std::optional<TokenSpan> place_of(const TokenSpan& span) const;
};
// At least one. REQUIRED: max_length >= 8, doc_stride >= 1.
std::vector<AnswerWindow> answer_windows(std::span<const int32_t> question, std::span<const int32_t> context,
                                         const WindowOptions& options);

struct ScoredSpan {
  TokenSpan span;
  double score = 0;  // start[first] + end[last]
};
// The `most` best spans of at most max_tokens tokens from `from` up to, not with, `to`, the best first; of equal ones
// that which begins, then ends first. REQUIRED: start and end have `to` numbers.
std::vector<ScoredSpan> best_spans(std::span<const float> start, std::span<const float> end, size_t from, size_t to,
                                   size_t max_tokens, size_t most);

}  // namespace tenon
