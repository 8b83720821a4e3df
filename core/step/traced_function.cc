#include "step/traced_function.h"

#include <algorithm>
#include <chrono>

#include "base/room.h"
#include "base/strings.h"
#include "graph/nodes.h"
#include "op/replicas.h"
#include "step/feed/dynamic_inputs.h"
#include "step/variables/make_variables.h"

namespace tenon {
namespace {

bool same_inputs(const std::vector<TraceInput>& a, const std::vector<TraceInput>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TraceInput& x, const TraceInput& y) {
    return x.name == y.name && x.type == y.type && x.split == y.split && x.dims == y.dims;
  });
}

// A step's inputs that lie ready.
class OneBatch : public Feed {
 public:
  explicit OneBatch(std::vector<Buffer>& inputs) : inputs_(inputs) {}
  bool next(uint64_t i, std::span<Buffer*> feeds) override {
    for (size_t k = 0; k < feeds.size(); ++k) feeds[k] = &inputs_[k];
    return i == 0;
  }
  void release(uint64_t) override {}

 private:
  std::vector<Buffer>& inputs_;
};

// Examples of all units; 1 of what is no batch.
int64_t rows_of(const GivenInput& given, int replicas) {
  if (given.batch_if_minor > 0) return given.batch_if_minor * replicas;
  return given.type.shape.rank() == 0 ? 1 : given.type.shape[0];
}

Status check_range(const StepProgram& program, const GivenInput& given, int64_t rows) {
  for (const IndexRange& range : program.indices()) {
    if (range.feature != given.input.name) continue;
    const Outside found = find_outside(range, given.bytes.data(), given.type.dtype, rows,
                                       given.type.shape.elements() / rows, given.batch_if_minor);
    if (found.row >= 0) return invalid("example ", found.row, ": ", outside_message(range, found.value));
  }
  return {};
}

// Whether more than the number of rows differs.
bool is_of_another_kind(const Type& a, const Type& b) {
  const std::span<const int64_t> x = a.shape.dims(), y = b.shape.dims();
  return a.dtype != b.dtype || x.size() != y.size() ||
         (!x.empty() && !std::equal(x.begin() + 1, x.end(), y.begin() + 1, y.end()));
}

// "input 'x' is f32[4,5], an earlier call had f32[4,3]" of each input of another kind, on all units.
std::string changed_inputs(const std::vector<TraceInput>& now, const std::vector<TraceInput>& before, int units) {
  const auto text = [&](const TraceInput& input) {
    Type whole = input.type;
    if (input.split && whole.shape.rank() > 0) whole.shape.set(0, whole.shape[0] * units);
    return whole.str();
  };
  std::vector<std::string> changes;
  for (const TraceInput& input : now)
    for (const TraceInput& was : before)
      if (input.name == was.name && is_of_another_kind(input.type, was.type))
        changes.push_back(cat("input '", input.name, "' is ", text(input), ", an earlier call had ", text(was)));
  return join(changes, "; ");
}

}  // namespace

TracedFunction::TracedFunction(TensorFunction function, std::shared_ptr<Device> device, Queue& queue,
                               TracedFunctionOptions options)
    : function_(std::move(function)),
      device_(std::move(device)),
      queue_(queue),
      options_(std::move(options)),
      most_(options_.compile.max_iterations),
      variables_(options_.variables) {}

// Null where there is none.
TracedFunction::Compiled* TracedFunction::find(const std::vector<TraceInput>& signature, int steps,
                                               bool repeated) const {
  for (const auto& compiled : programs_)
    if (compiled->steps >= steps && compiled->repeated == repeated && same_inputs(compiled->signature, signature))
      return compiled.get();
  return nullptr;
}

Result<TracedFunction::Compiled*> TracedFunction::compiled_for(const std::vector<TraceInput>& signature, int steps,
                                                               bool repeated) {
  if (Compiled* const compiled = find(signature, steps, repeated)) return compiled;
  Result<std::unique_ptr<Compiled>> made = compile(signature, steps, repeated);
  if (!made.ok()) return after_change(made.status(), signature);
  programs_.push_back(std::move(*made));
  return programs_.back().get();
}

// Who calls a function again says what is different about the call that fails.
Status TracedFunction::after_change(const Status& status, const std::vector<TraceInput>& signature) const {
  if (programs_.empty()) return status;
  const std::string changes = changed_inputs(signature, programs_.back()->signature, device_->replicas());
  if (changes.empty()) return status;
  return Status(status.code(), cat(status.message(), " (", options_.tracing.what, ": ", changes, ")"));
}

Result<std::unique_ptr<TracedFunction::Compiled>> TracedFunction::compile(const std::vector<TraceInput>& signature,
                                                                          int steps, bool repeated) {
  TraceOptions tracing = options_.tracing;
  if (repeated) tracing.replicas = 1, tracing.same_draws = true;
  TENON_ASSIGN(const Trace traced, trace(function_, signature, tracing));
  ProgramOptions compile = options_.compile;
  compile.max_iterations = steps;
  auto out = std::make_unique<Compiled>(Compiled{signature, steps, repeated, nullptr, {}});
  TENON_ASSIGN(out->program, StepProgram::create(traced, device_, compile, options_.seed));
  for (const auto& [scalar, value] : numbers_) out->program->set_number(scalar, value);
  if (nodes_.empty()) nodes_ = graph_nodes(*traced.graph);
  if (options_.compiled) options_.compiled(*traced.graph, out->program->executable());
  if (!variables_) return out;
  TENON_TRY(make_variables(*traced.graph, *variables_));
  out->program->bind(*variables_);
  return out;
}

Status TracedFunction::prepare(const std::vector<FeatureSpec>& features, int64_t batch_size) {
  TENON_ASSIGN(taking_.whole,
               compiled_for(batch_inputs(features, batch_size, device_->replicas(), options_.bounded_batch), most_));
  taking_.specs = features;
  taking_.batch_size = batch_size;
  return {};
}

void TracedFunction::set_number(const std::string& scalar, double value) {
  numbers_[scalar] = value;
  for (const auto& compiled : programs_) compiled->program->set_number(scalar, value);
}

Status TracedFunction::bind(VariableStore& variables) {
  variables_ = &variables;
  for (const auto& compiled : programs_) {
    TENON_TRY(variables.provide(compiled->program->executable().graph, nullptr));
    compiled->program->bind(variables);
  }
  return {};
}

Status TracedFunction::open(const StepInput& input, const PipelineState& from, std::function<bool()> interrupted) {
  close();
  TENON_TRY(prepare(input.specs(), input.batch_size));
  TENON_ASSIGN(taking_.feed, BatchFeed::create(*taking_.whole->program, input, from, std::move(interrupted)));
  return {};
}

TracedFunction::Taking TracedFunction::set_aside() {
  past_ = throughput();
  return std::exchange(taking_, {});
}

void TracedFunction::go_on(Taking taking) {
  close();
  taking_ = std::move(taking);
  if (taking_.feed) past_ = past_ - taking_.feed->throughput();
}

Result<StepCall> TracedFunction::take_whole(uint32_t steps, HostWatch* watch) {
  std::optional<WatchedFeed> watched;
  if (watch) watched.emplace(*taking_.feed, *watch);
  if (options_.bounded_batch) taking_.whole->program->set_sizes(batch_of(taking_.batch_size));
  Feed* const feed = watched ? static_cast<Feed*>(&*watched) : taking_.feed.get();
  TENON_ASSIGN(const uint32_t done, taking_.feed->run(*taking_.whole->program, queue_, steps, feed));
  return StepCall{taking_.whole->program.get(), done, taking_.batch_size, taking_.batch_size};
}

Result<StepCall> TracedFunction::take(uint32_t steps) {
  if (taking_.feed->partial().rows > 0) return take_partial();
  TENON_ASSIGN(const StepCall call, take_whole(steps));
  return call.steps == 0 && taking_.feed->partial().rows > 0 ? take_partial() : Result<StepCall>(call);
}

// How many rows a batch of so many is computed with.
Result<int64_t> TracedFunction::rows_to_compute(int64_t rows) const {
  const int64_t replicas = device_->replicas();
  if (options_.remainder == Remainder::kRefuse && rows % replicas != 0)
    return invalid(options_.tracing.what, ": a batch has ", rows,
                   " rows, which must be divisible by number of replicas ", replicas,
                   "; drop_remainder leaves such batches out");
  return (rows + (options_.remainder == Remainder::kPad ? replicas - 1 : 0)) / replicas * replicas;
}

// Whether rows that are added concern nothing that stays: every result has a row an example, and no variable is written.
bool TracedFunction::gives_rows_alone() const {
  const StepProgram& program = *taking_.whole->program;
  const auto& variables = program.executable().graph.variables;
  return std::all_of(program.results().begin(), program.results().end(), [](const auto& r) { return r.rows; }) &&
         std::none_of(variables.begin(), variables.end(), [](const Variable& v) { return v.next != kAbsent; });
}

// The batch with fewer rows that the feed stopped at.
Result<StepCall> TracedFunction::take_partial() {
  const int64_t given = taking_.feed->partial().rows;
  const bool pads = options_.remainder == Remainder::kPad && gives_rows_alone();
  const bool repeats = options_.remainder == Remainder::kWhole || (options_.remainder == Remainder::kPad && !pads);
  if (repeats && given % device_->replicas() != 0) {
    StepCall whole{nullptr, 0, given, given};
    TENON_TRY(run_partial(whole, true));
    taking_.feed->release_partial();
    return whole;
  }
  TENON_ASSIGN(const int64_t computed, rows_to_compute(given));
  StepCall call{nullptr, 0, std::min(given, computed), computed, std::max<int64_t>(given - computed, 0)};
  if (computed > 0) TENON_TRY(run_partial(call, false));
  taking_.feed->release_partial();
  return call;
}

DimensionSizes TracedFunction::batch_of(int64_t rows) const { return {{"batch", rows / device_->replicas()}}; }

// One step on its rows, dealt over the units or whole on each.
Status TracedFunction::run_partial(StepCall& call, bool repeated) {
  if (options_.bounded_batch && !repeated) {
    call.program = taking_.whole->program.get();
    taking_.whole->program->set_sizes(batch_of(call.computed));
    std::vector<Buffer> inputs;
    TENON_TRY(taking_.feed->fill_partial(*call.program, queue_, call.computed, inputs));
    OneBatch batch(inputs);
    TENON_ASSIGN(call.steps, taking_.whole->program->run(queue_, 1, &batch));
    return {};
  }
  const std::vector<FeatureSpec>& specs = taking_.feed->partial_specs();
  const auto signature =
      repeated ? whole_inputs(specs, call.computed) : batch_inputs(specs, call.computed, device_->replicas());
  TENON_ASSIGN(Compiled * small, compiled_for(signature, 1, repeated));
  TENON_TRY(taking_.feed->fill_partial(*small->program, queue_, call.computed, small->inputs));
  use_inputs(*small);
  call.program = small->program.get();
  const auto begin = std::chrono::steady_clock::now();
  TENON_ASSIGN(call.steps, small->program->run(queue_, 1, nullptr));
  taking_.feed->count_partial(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return {};
}

Status TracedFunction::place(const std::vector<GivenInput>& inputs, const DimensionSizes& sizes, int64_t rows,
                             bool repeated) {
  std::vector<TraceInput> signature;
  for (const GivenInput& given : inputs) signature.push_back(given.input);
  TENON_ASSIGN(placed_, compiled_for(signature, most_, repeated));
  placed_->program->set_sizes(sizes);
  placed_rows_ = 1;
  const auto batch = std::find_if(inputs.begin(), inputs.end(), [](const GivenInput& g) { return g.input.split; });
  if (batch != inputs.end()) placed_rows_ = rows_of(*batch, device_->replicas());
  if (rows > 0) placed_rows_ = rows;
  std::vector<Buffer>& memory = placed_->inputs;
  size_t next = 0;
  for (const GraphInput& input : placed_->program->executable().graph.inputs) {
    if (input.role != Role::kFeed) continue;
    const auto given =
        std::find_if(inputs.begin(), inputs.end(), [&](const GivenInput& g) { return g.input.name == input.name; });
    TENON_TRY(check_range(*placed_->program, *given, rows_of(*given, device_->replicas())));
    if (next == memory.size()) {
      TENON_ASSIGN(Buffer buffer, device_->allocate(given->type, true, input.split));
      memory.push_back(std::move(buffer));
    }
    const Buffer& buffer = memory[next++];
    const auto bytes = static_cast<size_t>(buffer.type().bytes());  // of this process's units
    const size_t from = input.split ? static_cast<size_t>(device_->rank()) * bytes : 0;
    TENON_TRY(queue_.write(buffer, given->bytes.data() + from, bytes));
  }
  use_inputs(*placed_);
  return {};
}

void TracedFunction::use_inputs(Compiled& compiled) {
  std::vector<const Buffer*> feeds;
  for (const Buffer& buffer : compiled.inputs) feeds.push_back(&buffer);
  compiled.program->bind_feeds(feeds);
}

Result<StepCall> TracedFunction::repeat(uint32_t steps) {
  TENON_ASSIGN(const uint32_t done, placed_->program->run(queue_, steps, nullptr));
  return StepCall{placed_->program.get(), done, placed_rows_, placed_rows_};
}

Result<ProgramPlan> TracedFunction::plan(const std::vector<TraceInput>& signature) const {
  TENON_ASSIGN(Trace traced, trace(function_, signature, options_.tracing));
  return plan_program(std::move(traced), device_, options_.compile);
}

Result<PredictedStep> TracedFunction::forecast(const std::vector<TraceInput>& signature) const {
  if (const Compiled* compiled = find(signature, most_, false)) return predicted_step(compiled->program->executable());
  TENON_ASSIGN(ProgramPlan planned, plan(signature));
  TENON_TRY(planned.refused);
  return std::move(planned.step);
}

// A result as far as its dynamic dimensions and the rows that were given go.
Array TracedFunction::as_it_is(Array value, const StepCall& call, size_t r) const {
  const TracedResult& result = call.program->results()[r];
  const int units = result.rows ? device_->replicas() : 1;
  const int axis0 = call.program->executable().graph.results[r].mode == ResultMode::kEach && most_ > 1 ? 1 : 0;
  Shape shape = value.shape();
  for (const auto& [axis, dim] : result.dims)
    shape.set(axis + axis0, call.program->sizes().at(dim) * (axis == 0 ? units : 1));
  value = resized(std::move(value), shape, units, axis0);
  if (call.rows == call.computed || !result.rows || shape[axis0] != call.computed) return value;
  shape.set(axis0, call.rows);
  return resized(std::move(value), shape, 1, axis0);
}

Result<Array> TracedFunction::result(const StepCall& call, std::string_view name) const {
  return call.program->read(queue_, static_cast<size_t>(call.program->executable().find_result(name)), call.steps);
}

Status TracedFunction::show_watched(const StepCall& call, int64_t before) const {
  return call.steps > 0 ? call.program->show_watched(queue_, call.steps, before) : Status();
}

Result<Results> TracedFunction::results(const StepCall& call) const {
  if (call.steps == 0) return Results();
  Arrays values;
  const Graph& graph = call.program->executable().graph;
  for (size_t r = 0; r < call.program->results().size(); ++r) {
    const Output& result = graph.results[r];
    if (result.mode == ResultMode::kUntil) continue;
    TENON_ASSIGN(Array value, call.program->read(queue_, r, call.steps));
    if (result.mode == ResultMode::kEach && most_ == 1) value = value.row(0);
    values.emplace(result.name, as_it_is(std::move(value), call, r));
  }
  return Results(std::move(values), call.steps, int64_t{call.steps} * call.rows);
}

Result<bool> TracedFunction::said_stop(const StepCall& call) const {
  const Graph& graph = call.program->executable().graph;
  for (size_t r = 0; r < call.program->results().size(); ++r) {
    if (graph.results[r].mode != ResultMode::kUntil) continue;
    TENON_ASSIGN(const Array value, call.program->read(queue_, r, call.steps));
    if (value.item() != 0) return true;
  }
  return false;
}

Result<Results> TracedFunction::joined(std::vector<Results> calls) const {
  if (calls.size() == 1) return std::move(calls[0]);
  const StepProgram& program = *placed_->program;
  const Graph& graph = program.executable().graph;
  Arrays values = calls.back().all();
  int64_t steps = 0, examples = 0;
  for (const Results& call : calls) steps += call.steps(), examples += call.examples();
  for (size_t r = 0; r < program.results().size(); ++r) {
    if (!program.results()[r].each) continue;
    const std::string& name = graph.results[r].name;
    Type type = values.at(name).type();
    std::vector<int64_t> dims = type.shape.vec();
    if (most_ == 1) dims.insert(dims.begin(), 1);  // just the step's value
    dims[0] = steps;
    type.shape = Shape(dims);
    TENON_TRY(room_for(static_cast<uint64_t>(type.bytes()), cat("result '", name, "' of ", steps, " steps")));
    Array all(type);
    size_t at = 0;
    for (const Results& call : calls) {
      const auto bytes = call[name].bytes();
      std::copy(bytes.begin(), bytes.end(), all.bytes().begin() + static_cast<ptrdiff_t>(at));
      at += bytes.size();
    }
    values.at(name) = std::move(all);
  }
  return Results(std::move(values), steps, examples);
}

}  // namespace tenon
