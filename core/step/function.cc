// Calls of traced functions.
#include <algorithm>

#include "base/text.h"
#include "op/replicas.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

bool same(const std::vector<TraceInput>& a, const std::vector<TraceInput>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TraceInput& x, const TraceInput& y) {
    return x.name == y.name && x.type == y.type && x.split == y.split;
  });
}

// What is not a scalar is a batch, which the units share.
Result<std::vector<TraceInput>> signature_of(const Arrays& inputs, int replicas) {
  std::vector<TraceInput> out;
  for (const auto& [name, array] : inputs) {
    TraceInput input{name, array.type(), array.shape().rank() > 0};
    if (array.elements() == 0) return invalid("input '", name, "' is ", array.type().str(), ", which is empty");
    if (input.split && array.dim(0) % replicas != 0)
      return invalid("input '", name, "' has ", array.dim(0), " rows, which must be divisible by number of replicas ",
                     replicas);
    if (input.split) input.type.shape.set(0, array.dim(0) / replicas);
    out.push_back(std::move(input));
  }
  return out;
}

// Rows of what was computed; 1 where nothing has rows.
int64_t rows_of(const std::vector<TraceInput>& signature, int replicas) {
  for (const TraceInput& input : signature)
    if (input.split) return input.type.shape[0] * replicas;
  return 1;
}

}  // namespace

const Array& Results::operator[](std::string_view name) const {
  for (const auto& entry : values_)
    if (entry.first == name) return entry.second;
  std::vector<std::string_view> names;
  for (const auto& entry : values_) names.push_back(entry.first);
  if (names.empty() && steps_ == 0) fail("there is no result '", name, "': no step was done, as the data have ended");
  fail("there is no result '", name, "'; there are: ", join(names));
}

Results Function::operator()(const Dataset& data, int most_steps) { return impl_->take(data, most_steps).take(); }
Results Function::operator()(const Arrays& inputs) { return impl_->repeat(1, inputs).take(); }
Results Function::repeat(int steps, const Arrays& inputs) { return impl_->repeat(steps, inputs).take(); }
void Function::next_epoch() { impl_->next_epoch(); }
void Function::rewind() { impl_->rewind(); }
int Function::traces() const { return impl_->traces(); }

Result<Function::Impl::Compiled*> Function::Impl::compiled_for(std::vector<TraceInput> signature) {
  for (const auto& compiled : programs_)
    if (same(compiled->signature, signature)) return compiled.get();
  TENON_ASSIGN(std::unique_ptr<Compiled> made, compile(std::move(signature)));
  programs_.push_back(std::move(made));
  return programs_.back().get();
}

Result<std::unique_ptr<Function::Impl::Compiled>> Function::Impl::compile(std::vector<TraceInput> signature) const {
  Strategy::Impl& s = *strategy_;
  TENON_ASSIGN(const Trace traced,
               trace(function_, signature, s.tracing(options_.mode, options_.name, options_.steps_per_call == 1)));
  ProgramOptions compile;
  compile.deterministic = s.options.deterministic;
  compile.max_iterations = options_.steps_per_call;
  if (s.options.soft_placement) compile.settings = "soft_placement=1";
  auto out = std::make_unique<Compiled>();
  TENON_ASSIGN(out->program, StepProgram::create(traced, s.device, compile, s.options.seed));
  TENON_TRY(s.variables->provide(out->program->executable().graph, nullptr));
  out->program->bind(*s.variables);
  out->signature = std::move(signature);
  for (const Output& result : out->program->executable().graph.results) out->results += result.alias < 0;
  return out;
}

Status Function::Impl::open(const Dataset& data) {
  if (stream_ && stream_->data.same(data)) return {};
  stream_.reset();
  const int replicas = strategy_->device->replicas();
  const int64_t batch = data.options().batch_size;
  if (batch % replicas != 0)
    return invalid(options_.name, ": batches of ", batch, " rows must be divisible by number of replicas ", replicas);
  TENON_ASSIGN(Compiled * compiled, compiled_for(batch_inputs(data.specs(), batch, replicas)));
  stream_.emplace(Stream{data, compiled, nullptr});
  return {};
}

Status Function::Impl::begin_epoch() {
  Stream& stream = *stream_;
  if (stream.feed) return {};
  TENON_ASSIGN(stream.feed,
               BatchFeed::create(*stream.compiled->program, StepInput(stream.data), stream.data.epoch(stream.epoch)));
  return {};
}

void Function::Impl::end_epoch() {
  stream_->feed.reset();
  ++stream_->epoch;
}

Result<Results> Function::Impl::take(const Dataset& data, int most_steps) {
  if (most_steps < 0) return invalid(options_.name, ": most_steps is ", most_steps, ", expected 0 or more");
  TENON_TRY(open(data));
  TENON_TRY(begin_epoch());
  BatchFeed& feed = *stream_->feed;
  if (feed.partial().rows > 0) return run_partial();
  Compiled& compiled = *stream_->compiled;
  const int most = most_steps > 0 ? std::min(most_steps, options_.steps_per_call) : options_.steps_per_call;
  TENON_ASSIGN(const uint32_t done, compiled.program->run(strategy_->queue, static_cast<uint32_t>(most), &feed));
  TENON_TRY(feed.status());
  if (done > 0) return results_of(compiled, done, data.options().batch_size, data.options().batch_size);
  if (feed.partial().rows > 0) return run_partial();
  end_epoch();
  return Results();
}

// Of a batch with so many rows.
Result<int64_t> Function::Impl::rows_to_compute(int64_t rows) const {
  const int64_t replicas = strategy_->device->replicas();
  if (options_.remainder == Remainder::kRefuse && rows % replicas != 0)
    return invalid(options_.name, ": a batch has ", rows, " rows, which must be divisible by number of replicas ",
                   replicas, "; drop_remainder leaves such batches out");
  return (rows + (options_.remainder == Remainder::kPad ? replicas - 1 : 0)) / replicas * replicas;
}

// The batch with fewer rows that the stream stopped at.
Result<Results> Function::Impl::run_partial() {
  BatchFeed& feed = *stream_->feed;
  const int64_t given = feed.partial().rows;
  TENON_ASSIGN(const int64_t computed, rows_to_compute(given));
  if (computed == 0) {
    end_epoch();
    return Results();
  }
  TENON_ASSIGN(Compiled * small,
               compiled_for(batch_inputs(stream_->data.specs(), computed, strategy_->device->replicas())));
  TENON_ASSIGN(small->inputs, feed.partial_buffers(*small->program, strategy_->queue, computed));
  feed.release_partial();
  use_inputs(*small);
  TENON_ASSIGN(const uint32_t done, small->program->run(strategy_->queue, 1, nullptr));
  return results_of(*small, done, std::min(given, computed), computed);
}

// HOST memory for arrays, made once, and the arrays in it.
Status Function::Impl::write_inputs(Compiled& compiled, const Arrays& inputs) const {
  const Executable& executable = compiled.program->executable();
  const bool first = compiled.inputs.empty();
  size_t next = 0;
  for (const GraphInput& input : executable.graph.inputs) {
    if (input.role != Role::kFeed) continue;
    const Array& array = inputs.at(input.name);
    if (first) {
      TENON_ASSIGN(Buffer buffer, executable.device->allocate(array.type(), true, input.split));
      compiled.inputs.push_back(std::move(buffer));
    }
    TENON_TRY(check_indices(compiled.program->indices(), input.name, array));
    TENON_TRY(strategy_->queue.write(compiled.inputs[next++], array.bytes().data(), array.bytes().size()));
  }
  return {};
}

void Function::Impl::use_inputs(Compiled& compiled) const {
  std::vector<const Buffer*> feeds;
  for (const Buffer& buffer : compiled.inputs) feeds.push_back(&buffer);
  compiled.program->bind_feeds(feeds);
}

Result<Results> Function::Impl::repeat(int steps, const Arrays& inputs) {
  if (steps < 1 || steps > options_.steps_per_call)
    return invalid(options_.name, ": ", steps, " steps in a call, expected 1 to steps_per_call ",
                   options_.steps_per_call);
  const int replicas = strategy_->device->replicas();
  TENON_ASSIGN(std::vector<TraceInput> signature, signature_of(inputs, replicas));
  TENON_ASSIGN(Compiled * compiled, compiled_for(std::move(signature)));
  TENON_TRY(write_inputs(*compiled, inputs));
  use_inputs(*compiled);
  TENON_ASSIGN(const uint32_t done, compiled->program->run(strategy_->queue, static_cast<uint32_t>(steps), nullptr));
  const int64_t rows = rows_of(compiled->signature, replicas);
  return results_of(*compiled, done, rows, rows);
}

// A step had `rows` examples; of results with a row each, `computed` are there.
Result<Results> Function::Impl::results_of(const Compiled& compiled, uint32_t steps, int64_t rows,
                                           int64_t computed) const {
  Arrays values;
  const Graph& graph = compiled.program->executable().graph;
  for (size_t r = 0; r < compiled.results; ++r) {
    const Output& result = graph.results[r];
    if (result.mode == ResultMode::kUntil) continue;
    TENON_ASSIGN(Array value, compiled.program->read(strategy_->queue, r, steps));
    if (result.mode == ResultMode::kEach && options_.steps_per_call == 1) value = value.row(0);
    if (rows < computed && result.split && value.dim(0) == computed) value = value.rows(0, rows);
    values.emplace(result.name, std::move(value));
  }
  return Results(std::move(values), steps, static_cast<int64_t>(steps) * rows);
}

}  // namespace tenon
