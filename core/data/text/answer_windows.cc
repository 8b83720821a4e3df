#include <algorithm>
#include <cmath>
#include <tuple>

#include "tenon/answers.h"

namespace tenon {

Result<LocatedTokens> locate_tokens(const Subtokenizer& words, std::string_view text) {
  LocatedTokens out;
  TENON_TRY(words.encode(text, out.ids, out.parts));
  return out;
}

std::optional<TokenSpan> tokens_of(const LocatedTokens& text, size_t begin, size_t end) {
  using Part = Subtokenizer::Part;
  const auto first =
      std::partition_point(text.parts.begin(), text.parts.end(), [&](const Part& part) { return part.end <= begin; });
  const auto behind = std::partition_point(first, text.parts.end(), [&](const Part& part) { return part.begin < end; });
  if (first == behind) return std::nullopt;
  return TokenSpan{static_cast<size_t>(first - text.parts.begin()),
                   static_cast<size_t>(behind - text.parts.begin()) - 1};
}

std::optional<TokenSpan> AnswerWindow::place_of(const TokenSpan& span) const {
  if (span.first < begin || span.last >= end) return std::nullopt;
  return TokenSpan{context_at + span.first - begin, context_at + span.last - begin};
}

std::vector<AnswerWindow> answer_windows(std::span<const int32_t> question, std::span<const int32_t> context,
                                         const WindowOptions& options) {
  const auto length = static_cast<size_t>(options.max_length);
  question = question.first(std::min(question.size(), length / 2));
  const size_t room = length - question.size() - 2;
  const size_t step = std::min(static_cast<size_t>(options.doc_stride), room);
  std::vector<AnswerWindow> out;
  for (size_t begin = 0;; begin += step) {
    const size_t end = std::min(begin + room, context.size());
    AnswerWindow window{{}, question.size() + 1, begin, end};
    window.inputs.reserve(question.size() + end - begin + 2);
    window.inputs.assign(question.begin(), question.end());
    window.inputs.push_back(Subtokenizer::kEos);
    window.inputs.insert(window.inputs.end(), context.begin() + static_cast<std::ptrdiff_t>(begin),
                         context.begin() + static_cast<std::ptrdiff_t>(end));
    window.inputs.push_back(Subtokenizer::kEos);
    out.push_back(std::move(window));
    if (end == context.size()) return out;
  }
}

std::vector<ScoredSpan> best_spans(std::span<const float> start, std::span<const float> end, size_t from, size_t to,
                                   size_t max_tokens, size_t most) {
  const auto better = [](const ScoredSpan& a, const ScoredSpan& b) {
    return std::tuple(-a.score, a.span.first, a.span.last) < std::tuple(-b.score, b.span.first, b.span.last);
  };
  std::vector<ScoredSpan> best;  // a heap whose first is the worst
  for (size_t first = from; most > 0 && first < to; ++first)
    for (size_t last = first; last < std::min(to, first + max_tokens); ++last) {
      const ScoredSpan found{{first, last}, static_cast<double>(start[first]) + static_cast<double>(end[last])};
      if (std::isnan(found.score) || (best.size() == most && !better(found, best[0]))) continue;
      if (best.size() == most) std::pop_heap(best.begin(), best.end(), better), best.pop_back();
      best.push_back(found);
      std::push_heap(best.begin(), best.end(), better);
    }
  std::sort_heap(best.begin(), best.end(), better);
  return best;
}

}  // namespace tenon
