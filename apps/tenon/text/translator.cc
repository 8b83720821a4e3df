#include "text/translator.h"

#include <algorithm>
#include <numeric>

#include "output.h"
#include "process.h"
#include "text/lines.h"
#include "text/trained.h"

namespace tenon::runner {
namespace {

// Sizes of programs: few, so that they are compiled once.
int64_t size_of_program(int64_t least) {
  int64_t size = 16;
  while (size < least) size += std::max<int64_t>(size / 4, 8);
  return size;
}

// Tokens before the end.
size_t written(std::span<const int32_t> ids) {
  const auto ends = [](int32_t id) { return id == Subtokenizer::kEos || id == Subtokenizer::kPad; };
  return static_cast<size_t>(std::find_if(ids.begin(), ids.end(), ends) - ids.begin());
}

}  // namespace

Translator::Translator(TranslatorOptions options, const Params& params)
    : options_(std::move(options)),
      params_(params),
      strategy_(options_.device, options_.strategy),
      words_(trained_vocabulary(options_.vocabulary, params_)) {}

void Translator::load(const std::string& checkpoint) { strategy_.warm_start({.ckpt_to_initialize_from = checkpoint}); }

void Translator::translate(std::vector<Sentence>& lines, const ShowsText& grows, const std::function<bool()>& ends) {
  std::vector<size_t> order;  // of those that say something, the short ones first
  for (size_t i = 0; i < lines.size(); ++i) {
    encode(lines[i]);
    if (lines[i].ids.size() > 1) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lines[a].ids.size() < lines[b].ids.size(); });
  const auto most = static_cast<size_t>(options_.batch);
  for (size_t at = 0; at < order.size(); at += most) {
    if (ends ? ends() : interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
    translate(lines, std::span(order).subspan(at, std::min(most, order.size() - at)), grows, ends);
  }
}

std::string Translator::where(const Sentence& line) const { return place_of_line(options_.source, line.line); }

Status Translator::take_ids(const Sentence& line, std::vector<int32_t>& ids) const {
  const Status encoded = words_.encode(Subtokenizer::cleaned(line.source), ids);
  return encoded.ok() ? encoded : Status(encoded.code(), where(line) + encoded.message());
}

Status Translator::check_text(const Sentence& line) const {
  std::vector<int32_t> ids;
  return take_ids(line, ids);
}

size_t Translator::most_read() const {
  return static_cast<size_t>(options_.padded_length > 0 ? options_.padded_length : options_.source_length) - 1;
}

Status Translator::check_uncut(const Sentence& line) const {
  std::vector<int32_t> ids;
  if (const Status taken = take_ids(line, ids); !taken.ok()) return taken;
  if (!options_.tells_of_cuts || ids.size() <= most_read()) return {};
  return Status(Code::kInvalid, where(line) + format("%zu tokens, expected at most %zu", ids.size(), most_read()));
}

void Translator::encode(Sentence& line) const {
  line.ids.clear();
  check(take_ids(line, line.ids));
  const size_t most = most_read();
  if (line.ids.size() > most) {
    if (options_.tells_of_cuts)
      print_error(where(line) + format("%zu tokens, cut to %zu, the most that are read", line.ids.size(), most));
    line.ids.resize(most);
  }
  line.ids.push_back(Subtokenizer::kEos);
}

Decoder& Translator::decoder(int64_t length, int64_t max_length) {
  const auto found = decoders_.find(length);
  if (found != decoders_.end()) return found->second;
  DecodeOptions search = options_.search;
  search.max_length = max_length;
  search.eos = Subtokenizer::kEos;
  return decoders_.emplace(length, models::translator(strategy_, params_, search)).first->second;
}

// Up to its end.
std::string Translator::text_of(std::span<const int32_t> ids) const { return words_.decode(ids.first(written(ids))); }

void Translator::translate(std::vector<Sentence>& lines, std::span<const size_t> which, const ShowsText& grows,
                           const std::function<bool()>& ends) {
  const bool padded = options_.padded_length > 0;
  const auto longest = static_cast<int64_t>(lines[which.back()].ids.size());
  const int64_t length = padded ? options_.padded_length : size_of_program(longest);
  const int64_t target = options_.target_length;
  const int64_t max_length = padded ? length : target > 0 ? target : length + options_.extra_length;
  const int64_t rows = padded ? options_.batch : size_of_program(static_cast<int64_t>(which.size()));
  const int64_t batch = std::min(rows, options_.batch);
  std::vector<int32_t> ids(static_cast<size_t>(batch * length), 0);
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    const Sentence& line = lines[which[std::min(i, which.size() - 1)]];
    std::copy(line.ids.begin(), line.ids.end(), ids.begin() + static_cast<std::ptrdiff_t>(i) * length);
  }
  Decoder& decode = decoder(length, max_length);
  const Arrays inputs{{"inputs", Array(ids, {batch, length})}};
  const int64_t most = target > 0 ? max_length : std::min(max_length, longest + options_.extra_length);
  const auto shows = show_first(grows, [&](const auto& so_far) { return text_of(so_far); });
  const Decoded found = decode(inputs, most, shows, ends);
  check_weights(strategy_);
  const std::vector<int32_t> all = found.ids.to<int32_t>();
  const std::vector<double> scores = found.scores.to<double>();
  const auto beams = static_cast<size_t>(options_.search.beam_size), size = static_cast<size_t>(max_length);
  for (size_t i = 0; i < which.size(); ++i) {
    const auto best = std::span(all).subspan(i * beams * size, size);
    tokens_ += static_cast<int64_t>(written(best));
    lines[which[i]].translation = text_of(best);
    lines[which[i]].score = scores[i * beams];
  }
}

}  // namespace tenon::runner
