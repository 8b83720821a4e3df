// Calls of traced functions.
#include <algorithm>
#include <cstdio>

#include "backend/forecast.h"
#include "base/room.h"
#include "base/strings.h"
#include "step/function_impl.h"
#include "tenon/processes.h"

namespace tenon {
namespace {

// The arrays as their signature says; those that have to grow for it are kept in `wide`.
Result<std::vector<GivenInput>> values_of(const Arrays& inputs, const std::vector<TraceInput>& signature, int replicas,
                                          std::vector<Array>& wide) {
  std::vector<GivenInput> out;
  wide.reserve(inputs.size());
  for (const TraceInput& input : signature) {
    const Array* array = &inputs.at(input.name);
    Type type = input.type;
    if (input.split) type.shape.set(0, type.shape[0] * replicas);
    if (!(array->type() == type)) {
      TENON_TRY(
          room_for(static_cast<uint64_t>(type.bytes()), cat("input '", input.name, "' at its bounds, ", type.str())));
      array = &wide.emplace_back(resized(*array, type.shape, replicas, 0));
    }
    out.push_back({input, type, array->bytes()});
  }
  return out;
}

// Whether units can share what is given along axis 0.
bool divides(const Arrays& inputs, int units) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const auto& entry) {
    return entry.second.shape().rank() == 0 || entry.second.dim(0) % units == 0;
  });
}

TracedFunctionOptions options_of(Strategy::Impl& s, const FunctionOptions& o) {
  TracedFunctionOptions out{.tracing = s.tracing(o.mode, o.name, o.steps_per_call == 1),
                            .seed = s.options.seed,
                            .variables = s.variables.get(),
                            .remainder = o.remainder,
                            .bounded_batch = o.max_batch != 0};
  out.tracing.casts_inputs = true;
  out.compile.deterministic = s.options.deterministic;
  out.compile.max_iterations = o.steps_per_call;
  out.compile.soft_placement = s.options.soft_placement;
  out.compiled = [](const Graph&, const Executable& program) {
    if (program.parted && is_first_process()) std::fputs(program.info().warnings.c_str(), stderr);
  };
  return out;
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
std::optional<PredictedStep> Function::forecast(const Arrays& inputs) { return impl_->forecast(inputs).take(); }
std::optional<PredictedStep> Function::forecast() const { return impl_->forecast().take(); }
void Function::next_epoch(uint64_t least) { impl_->next_epoch(least); }
void Function::rewind() { impl_->rewind(); }
int Function::traces() const { return impl_->traces(); }
Throughput Function::throughput() const { return impl_->throughput(); }
const std::vector<GraphNode>& Function::graph() const { return impl_->graph(); }

Function::Impl::Impl(const std::shared_ptr<Strategy::Impl>& strategy, TensorFunction function,
                     const FunctionOptions& options)
    : strategy_(strategy),
      options_(options),
      traced_(std::move(function), strategy->device, strategy->queue, options_of(*strategy, options_)) {}

Function::Impl::Stream& Function::Impl::stream_of(const Dataset& data) {
  constexpr size_t kMost = 4;  // each has batches made ahead
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& s) { return s.data.same(data); });
  if (found != streams_.end()) {
    streams_.splice(streams_.begin(), streams_, found);
    return streams_.front();
  }
  if (streams_.size() == kMost) {
    leave(streams_.back());
    streams_.pop_back();
  }
  return streams_.emplace_front(Stream{data, least_});
}

// What is taken from now on comes from there.
void Function::Impl::turn_to(Stream& stream) {
  if (of_last_ == &stream) return;
  if (of_last_) of_last_->taking = traced_.set_aside();
  traced_.go_on(std::exchange(stream.taking, {}));
  of_last_ = &stream;
}

void Function::Impl::leave(Stream& stream) {
  stream.taking = {};
  if (of_last_ != &stream) return;
  traced_.set_aside();
  of_last_ = nullptr;
}

void Function::Impl::end_epoch(Stream& stream) {
  const bool begun = of_last_ == &stream ? traced_.feed() != nullptr : stream.taking.feed != nullptr;
  if (!begun) return;
  leave(stream);
  ++stream.epoch;
}

void Function::Impl::next_epoch(uint64_t least) {
  for (Stream& stream : streams_) {
    end_epoch(stream);
    stream.epoch = std::max(stream.epoch, least);
  }
  least_ = least;
}

void Function::Impl::rewind() {
  for (Stream& stream : streams_) leave(stream);
  streams_.clear();
}

Status Function::Impl::open(Stream& stream) {
  turn_to(stream);
  if (traced_.feed()) return {};
  const Dataset& data = stream.data;
  const int replicas = strategy_->device->replicas();
  const int64_t batch = data.options().batch_size;
  if (batch % replicas != 0)
    return invalid(options_.name, ": batches of ", batch, " rows must be divisible by number of replicas ", replicas);
  const LengthBuckets& buckets = data.options().buckets;
  if (options_.remainder == Remainder::kPad && !buckets.boundaries.empty() && buckets.rows_divide_by % replicas != 0)
    return invalid(options_.name, ": batches of buckets have multiples of ", buckets.rows_divide_by,
                   " rows, which must be divisible by number of replicas ", replicas);
  if (options_.max_batch > 0 && batch != options_.max_batch)
    return invalid(options_.name, ": batches have ", batch, " rows, expected max_batch ", options_.max_batch);
  if (!options_.dynamic_shapes.empty())
    return invalid(options_.name,
                   ": dynamic_shapes are of arrays, the features of data have one size; max_batch is of both");
  return traced_.open(StepInput(data), data.epoch(stream.epoch));
}

Result<bool> Function::Impl::more(Stream& stream) {
  TENON_TRY(open(stream));
  const bool more = traced_.feed()->more();
  if (!more) end_epoch(stream);
  return more;
}

Result<Results> Function::Impl::take(Stream& stream, int most_steps) {
  if (most_steps < 0) return invalid(options_.name, ": most_steps is ", most_steps, ", expected 0 or more");
  TENON_TRY(open(stream));
  const int most = most_steps > 0 ? std::min(most_steps, options_.steps_per_call) : options_.steps_per_call;
  const Result<StepCall> taken = traced_.take(static_cast<uint32_t>(most));
  if (!taken.ok()) return behind_steps(taken.status(), steps_done_);
  const StepCall& call = *taken;
  TENON_TRY(traced_.feed()->status());
  if (call.steps == 0) end_epoch(stream);
  return results_of(call);
}

Result<Results> Function::Impl::results_of(const StepCall& call) {
  const Status shown = traced_.show_watched(call, std::exchange(steps_done_, steps_done_ + call.steps));
  if (!shown.ok()) return Status(shown.code(), cat(options_.name, ": ", shown.message()));
  return traced_.results(call);
}

Result<Results> Function::Impl::repeat(int steps, const Arrays& inputs) {
  if (steps < 1) return invalid(options_.name, ": ", steps, " steps, expected 1 or more");
  const bool whole = takes_whole() && !divides(inputs, strategy_->device->replicas());
  const int replicas = whole ? 1 : strategy_->device->replicas();
  TENON_ASSIGN(GivenInputs given, given_inputs(inputs, options_, replicas));
  for (TraceInput& input : given.signature) input.split = input.split && !whole;
  std::vector<Array> wide;
  TENON_ASSIGN(const std::vector<GivenInput> values, values_of(inputs, given.signature, replicas, wide));
  TENON_TRY(traced_.place(values, given.sizes, given.rows, whole));
  std::vector<Results> calls;
  for (int left = steps; left > 0;) {
    const auto next = static_cast<uint32_t>(std::min(left, options_.steps_per_call));
    const Result<StepCall> call = traced_.repeat(next);
    if (!call.ok()) return behind_steps(call.status(), steps_done_);
    TENON_ASSIGN(Results results, results_of(*call));
    calls.push_back(std::move(results));
    left -= static_cast<int>(call->steps);
    if (left == 0) break;
    TENON_ASSIGN(const bool ended, traced_.said_stop(*call));
    if (ended || call->steps < next) break;
  }
  return traced_.joined(std::move(calls));
}

Result<std::optional<PredictedStep>> Function::Impl::forecast(const Arrays& inputs) {
  const Device& device = *strategy_->device;
  if (!offers_forecast(device)) return std::optional<PredictedStep>();
  TENON_ASSIGN(const GivenInputs given, given_inputs(inputs, options_, device.replicas()));
  TENON_ASSIGN(PredictedStep step, traced_.forecast(given.signature));
  return std::optional(std::move(step));
}

Result<std::optional<PredictedStep>> Function::Impl::forecast() const {
  if (traces() == 0 || !offers_forecast(*strategy_->device)) return std::optional<PredictedStep>();
  TENON_ASSIGN(PredictedStep step, traced_.forecast());
  return std::optional(std::move(step));
}

}  // namespace tenon
