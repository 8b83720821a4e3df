// A vocabulary from counts of tokens. Four times: each token is split by the subtokens that there are, and every string that
// begins where a subtoken does is counted; the longest strings that are there often enough become subtokens, and what they
// begin with counts less by as much.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/caught.h"
#include "base/file/line_reader.h"
#include "base/strings.h"
#include "tenon/subtokenizer.h"
#include "text/subtoken_splitter.h"
#include "text/subtokens.h"
#include "text/unicode.h"

namespace tenon {

struct TokenCounts::Impl {
  std::unordered_map<std::u32string, int64_t> tokens;
};

namespace {

constexpr int kIterations = 4;
constexpr int64_t kLeastCount = 1, kMostCount = 1000;  // between which a count is searched
constexpr size_t kMostStrings = size_t{1} << 26;       // 1.5 GiB of them

using subtokens::CharacterTree;
using subtokens::Splitter;

struct Candidate {
  int64_t count;
  std::u32string text;
};
bool comes_first(const Candidate& a, const Candidate& b) {
  return a.count != b.count ? a.count > b.count : a.text > b.text;
}

class Builder {
 public:
  Builder(const TokenCounts::Impl& counts, const SubtokenOptions& options) : options_(options) {
    for (const auto& [token, count] : counts.tokens) alphabet_.add(token);
    for (const auto& [token, count] : counts.tokens) {
      std::u32string escaped;
      subtokens::escape(token, alphabet_, escaped);
      tokens_.push_back({count, std::move(escaped)});
    }
  }

  std::vector<std::u32string> build(int64_t min_count) const {
    std::vector<std::u32string> found;
    for (const char32_t c : alphabet_.all()) found.emplace_back(1, c);
    for (int i = 0; i < kIterations; ++i) {
      if (options_.interrupted && options_.interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
      CharacterTree tree;
      std::vector<int64_t> counts = count_strings(splitter_of(found), tree);
      found = choose(tree, counts, min_count);
    }
    return found;
  }

  // The vocabulary nearest to the target size among those that halving the interval tries.
  std::vector<std::u32string> search(int64_t low, int64_t high) const {
    const int64_t middle = (low + high) / 2;
    std::vector<std::u32string> found = build(middle);
    if (distance(found) < options_.threshold || low >= high || middle < 2) return found;
    const bool too_many = size_of(found) > options_.target_size;
    std::vector<std::u32string> other = too_many ? search(middle + 1, high) : search(low, middle - 1);
    return distance(other) < distance(found) ? other : found;
  }
  std::vector<std::u32string> search() const {
    return options_.min_count > 0 ? build(options_.min_count) : search(kLeastCount, kMostCount);
  }

 private:
  static int64_t size_of(const std::vector<std::u32string>& found) {
    return static_cast<int64_t>(found.size() + std::size(subtokens::kReserved));
  }
  int64_t distance(const std::vector<std::u32string>& found) const {
    return std::abs(size_of(found) - options_.target_size);
  }

  static Splitter splitter_of(const std::vector<std::u32string>& found) {
    Splitter splitter;
    for (size_t i = 0; i < found.size(); ++i) splitter.add(found[i], static_cast<int32_t>(i));
    splitter.finish();
    return splitter;
  }

  // By node of the tree.
  std::vector<int64_t> count_strings(const Splitter& splitter, CharacterTree& tree) const {
    std::vector<int64_t> counts(1);
    for (const auto& [count, token] : tokens_)
      for (size_t begin = 0; begin < token.size();) {
        uint32_t node = CharacterTree::kRoot;
        for (size_t at = begin; at < token.size(); ++at) {
          node = tree.add(node, token[at]);
          if (counts.size() < tree.size()) counts.push_back(0);
          counts[node] += count;
        }
        if (tree.size() > kMostStrings)
          fail("the text has too many different strings for a vocabulary; the last token begins '",
               unicode::encode(std::u32string_view(token).substr(0, 40)), "' and has ", token.size(), " characters");
        begin += splitter.longest(std::u32string_view(token).substr(begin)).length;
      }
    return counts;
  }

  std::vector<std::u32string> choose(const CharacterTree& tree, std::vector<int64_t>& counts, int64_t min_count) const {
    std::vector<Candidate> candidates;
    for (const uint32_t node : longest_first(tree)) {
      const int64_t count = counts[node];
      if (count < min_count) continue;
      if (tree.depth(node) > 1) candidates.push_back({count, tree.text(node)});
      for (uint32_t up = tree.parent(node); up != CharacterTree::kRoot; up = tree.parent(up)) counts[up] -= count;
    }
    for (const char32_t c : alphabet_.all()) {
      const uint32_t node = tree.child(CharacterTree::kRoot, c);
      candidates.push_back({node == CharacterTree::kNone ? 0 : counts[node], {c}});
    }
    std::sort(candidates.begin(), candidates.end(), comes_first);
    std::vector<std::u32string> found;
    for (Candidate& c : candidates) found.push_back(std::move(c.text));
    return found;
  }

  // All nodes but the root, by depth.
  static std::vector<uint32_t> longest_first(const CharacterTree& tree) {
    std::vector<size_t> first;  // how many nodes are deeper than the index, once summed
    for (uint32_t node = 1; node < tree.size(); ++node) {
      if (first.size() <= tree.depth(node)) first.resize(tree.depth(node) + 1);
      ++first[tree.depth(node) - 1];
    }
    for (size_t depth = first.size(); depth-- > 1;) first[depth - 1] += first[depth];
    std::vector<uint32_t> out(tree.size() - 1);
    for (uint32_t node = 1; node < tree.size(); ++node) out[first[tree.depth(node)]++] = node;
    return out;
  }

  const SubtokenOptions& options_;
  subtokens::Alphabet alphabet_;
  std::vector<std::pair<int64_t, std::u32string>> tokens_;  // escaped
};

}  // namespace

TokenCounts::TokenCounts() : impl_(std::make_unique<Impl>()) {}
TokenCounts::~TokenCounts() = default;
TokenCounts::TokenCounts(TokenCounts&&) noexcept = default;
TokenCounts& TokenCounts::operator=(TokenCounts&&) noexcept = default;

Result<int64_t> TokenCounts::add(std::string_view line) {
  return caught([&]() -> Result<int64_t> {
    std::u32string characters;
    if (!unicode::decode(line, characters)) return invalid("text is no UTF-8");
    const std::u32string_view text = unicode::stripped(characters);
    subtokens::for_each_token(text, [&](std::u32string_view token) { ++impl_->tokens[std::u32string(token)]; });
    return static_cast<int64_t>(text.size());
  });
}

Status LineSampler::add(std::string_view line) {
  if (full()) return {};
  if (skipped_ < skip_) return ++skipped_, Status();
  skipped_ = 0;
  TENON_ASSIGN(const int64_t length, counts_.add(line));
  left_ -= length;
  return {};
}

Status TokenCounts::add_sample(const std::string& path, int64_t characters) {
  return caught([&]() -> Status {
    TENON_ASSIGN(LineReader reader, LineReader::open(path));
    LineSampler sampler(*this, reader.bytes(), characters);
    for (std::string line; !sampler.full();) {
      TENON_ASSIGN(const bool more, reader.next(line));
      if (!more) break;
      if (const Status added = sampler.add(line); !added.ok())
        return invalid(reader.where(reader.number()), ": ", added.message());
    }
    return {};
  });
}

Result<Subtokenizer> build_subtokens(const TokenCounts& counts, const SubtokenOptions& options) {
  return caught([&]() -> Result<Subtokenizer> {
    std::vector<std::string> subtokens;
    for (const std::u32string& s : Builder(counts.impl(), options).search()) subtokens.push_back(unicode::encode(s));
    return Subtokenizer::from_subtokens(std::move(subtokens));
  });
}

}  // namespace tenon
