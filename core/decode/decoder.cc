#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/strings.h"
#include "decode/decode_trace.h"

namespace tenon {
namespace {

void check_options(const DecodeOptions& o) {
  const auto expect = [](bool good, const auto&... what) {
    if (!good) fail("Decoder: ", what...);
  };
  expect(o.vocabulary >= 2, "vocabulary is ", o.vocabulary, ", expected at least 2");
  expect(o.max_length >= 1, "max_length is ", o.max_length, ", expected at least 1");
  expect(o.eos >= 0 && o.eos < o.vocabulary, "eos is ", o.eos, ", expected a token below ", o.vocabulary);
  expect(o.start >= 0 && o.start < o.vocabulary, "start is ", o.start, ", expected a token below ", o.vocabulary);
  expect(o.beam_size >= 1 && 2 * o.beam_size <= o.vocabulary * o.beam_size, "beam_size is ", o.beam_size,
         ", expected at least 1");
  expect(o.beam_size * o.vocabulary < 1 << 24, "beam_size times vocabulary is ", o.beam_size * o.vocabulary,
         ", expected less than ", 1 << 24);
  expect_number("Decoder: alpha", o.alpha, 0);
  expect_number("Decoder: temperature", o.temperature, 0);
  expect(o.top_k >= 0, "top_k is ", o.top_k, ", expected 0 or more");
  expect(o.top_p > 0 && o.top_p <= 1, "top_p is ", o.top_p, ", expected more than 0, at most 1");
  const bool draws = o.temperature > 0;
  expect(o.beam_size == 1 || !draws, "a temperature is for beam_size 1, which is ", o.beam_size);
  expect(draws || (o.top_k == 0 && o.top_p == 1), "top_k and top_p are for a temperature above 0");
}

// Row i of x, n times each.
Tensor each_row_repeated(Tensor x, int64_t n) {
  if (n == 1) return x;
  std::vector<int64_t> wide = x.shape().vec(), flat = wide;
  wide.insert(wide.begin() + 1, n);
  flat[0] *= n;
  std::vector<int64_t> dims{0};
  for (int64_t i = 1; i < x.rank(); ++i) dims.push_back(i + 1);
  return reshape(broadcast(x, Shape(wide), dims), Shape(flat));
}

// Inputs of one batch: every unit of a device has them whole.
Array whole(const Array& x) {
  std::vector<int64_t> dims = x.shape().vec();
  dims.insert(dims.begin(), 1);
  return Array(Type{x.dtype(), Shape(dims)}, {x.bytes().begin(), x.bytes().end()});
}
Tensor unwrapped(Tensor x) { return reshape(x, Shape(std::vector<int64_t>(x.shape().begin() + 1, x.shape().end()))); }

}  // namespace

// The programs for inputs of one signature.
struct DecodePrograms {
  DecodePrograms(const Strategy& strategy, const Decoder::Begin& begin_with, const Decoder::Next& next,
                 const DecodeOptions& o, std::string prefix, int64_t batch)
      : variables(std::make_shared<DecodeVariables>(std::move(prefix))),
        begin(strategy.function(
            [v = variables, begin_with, o, batch](const Features& in) {
              Features inputs;
              for (const auto& [name, tensor] : in.all()) inputs.set(name, unwrapped(tensor));
              const Tensor any = in.all().begin()->second;
              v->begin_trace();
              const Features kept = begin_with(inputs);
              for (const auto& [name, tensor] : kept.all()) {
                if (tensor.rank() < 1 || tensor.dim(0) != batch)
                  fail("Decoder: begin gives '", name, "' as ", tensor.type().str(), ", expected a row for each of ",
                       batch, " sequences");
                v->put("state/" + name, each_row_repeated(tensor, o.beam_size));
              }
              (o.beam_size > 1 ? begin_beam_search : begin_sampling)(any, *v, batch, o);
              return Outputs{{"begun", last(full(*any.graph(), DType::kBool, {}, 1))}};
            },
            {.name = "decode: begin", .remainder = Remainder::kWhole})),
        step(strategy.function(
            [v = variables, next, o](const Features& in) {
              const Tensor max_steps = in["max_steps"];
              v->begin_trace();
              const Sequences s = (o.beam_size > 1 ? beam_search_step : sampling_step)(max_steps, *v, next, o);
              return Outputs{
                  {"ids", last(s.ids)}, {"scores", last(s.scores)}, {"ended", last(s.done)}, {"done", until(s.done)}};
            },
            {.steps_per_call = static_cast<int>(o.max_length),
             .name = "decode: step",
             .remainder = Remainder::kWhole})) {}

  std::shared_ptr<DecodeVariables> variables;
  Function begin, step;
};

struct Decoder::Impl {
  Strategy strategy;
  Begin begin;
  Next next;
  DecodeOptions options;
  std::map<std::string, DecodePrograms> programs;  // by the inputs' names and types

  // Under which the strategy has no variables yet.
  std::string free_prefix() const {
    const auto taken = [&](const std::string& prefix) {
      const auto all = strategy.variables();
      return std::any_of(all.begin(), all.end(), [&](const auto& v) { return v.name.starts_with(prefix); });
    };
    int64_t i = 0;
    while (taken(cat("decode/", i, "/"))) ++i;
    return cat("decode/", i, "/");
  }

  DecodePrograms& programs_of(const Arrays& inputs, int64_t batch) {
    std::string key;
    for (const auto& [name, x] : inputs) key += cat(name, " ", x.type().str(), " ");
    const auto found = programs.find(key);
    if (found != programs.end()) return found->second;
    return programs.emplace(key, DecodePrograms(strategy, begin, next, options, free_prefix(), batch)).first->second;
  }
};

Decoder::Decoder(Strategy strategy, Begin begin, Next next, const DecodeOptions& options) {
  check_options(options);
  impl_ = std::make_shared<Impl>(Impl{std::move(strategy), std::move(begin), std::move(next), options, {}});
}

namespace {

Decoded decoded(const Results& r, int64_t steps) { return {r["ids"], r["scores"], steps}; }

// As many steps a call as take about kPart.
Decoded write_in_parts(Function& step, const Arrays& given, int64_t most, const Decoder::Shows& shows,
                       const std::function<bool()>& interrupted) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPart = std::chrono::milliseconds(40);
  int64_t steps = 0, part = 1;
  for (;;) {
    if (interrupted && interrupted()) throw Error(Status(Code::kInterrupted, "Decoder: interrupted"));
    const int64_t wanted = std::min(part, most - steps);
    const auto begun = Clock::now();
    const Results r = step.repeat(static_cast<int>(wanted), given);
    const auto took = Clock::now() - begun;
    steps += r.steps();
    const bool ended = r["ended"].item() != 0;
    if (shows) shows(decoded(r, steps));
    if (ended) return decoded(r, steps);
    if (2 * took <= kPart)  // by what it was too short, but not far: the first one says little
      part *= std::clamp<int64_t>(kPart / std::max<Clock::duration>(2 * took, Clock::duration(1)), 2, 16);
    else if (took > kPart)
      part = std::max<int64_t>(part / 2, 1);
  }
}

}  // namespace

Decoded Decoder::operator()(const Arrays& inputs, int64_t max_steps) { return (*this)(inputs, max_steps, nullptr); }

Decoded Decoder::operator()(const Arrays& inputs, int64_t max_steps, const Shows& shows) {
  return (*this)(inputs, max_steps, shows, nullptr);
}

Decoded Decoder::operator()(const Arrays& inputs, int64_t max_steps, const Shows& shows,
                            const std::function<bool()>& interrupted) {
  if (shows && impl_->options.beam_size > 1)
    fail("Decoder: beam_size is ", impl_->options.beam_size, ", expected 1 where sequences are shown as they grow");
  const int64_t longest = impl_->options.max_length, steps = max_steps == 0 ? longest : max_steps;
  if (steps < 1 || steps > longest) fail("Decoder: max_steps is ", max_steps, ", expected 1 to max_length, ", longest);
  if (inputs.empty()) fail("Decoder: there are no inputs");
  Arrays all;
  std::optional<int64_t> batch;
  for (const auto& [name, x] : inputs) {
    if (x.shape().rank() < 1 || (batch && *batch != x.dim(0)))
      fail("Decoder: the input '", name, "' is ", x.type().str(), ", expected as many rows as the others");
    batch = x.dim(0);
    all[name] = whole(x);
  }
  DecodePrograms& programs = impl_->programs_of(inputs, *batch);
  programs.begin(all);
  const Arrays given{{"max_steps", Array(static_cast<int32_t>(steps))}};
  if (shows || interrupted) return write_in_parts(programs.step, given, steps, shows, interrupted);
  const Results r = programs.step.repeat(static_cast<int>(steps), given);
  return decoded(r, r.steps());
}

}  // namespace tenon
