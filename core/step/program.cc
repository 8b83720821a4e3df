#include "step/program.h"

#include "base/strings.h"
#include "compile/shared_graph.h"
#include "op/replicas.h"

namespace tenon {
namespace {

// "cpu: device lost at step 120 in node 'dense_1/dot': the card fell off". With neither it is the device's line alone.
Status placed(Code code, FailurePlace place) {
  std::string at;
  if (place.step > 0) append(at, cat(" at step ", place.step));
  if (!place.node.empty()) append(at, cat(" in node '", place.node, "'"));
  if (place.native != 0) append(at, cat(" (code ", place.native, ")"));
  std::string message = cat(place.device, ": ", at.empty() ? "" : cat(code_name(code), at, ": "), place.text);
  return Status(code, std::move(message), std::make_shared<const FailurePlace>(std::move(place)));
}

}  // namespace

Status behind_steps(const Status& status, int64_t before) {
  if (!status.place() || status.place()->step == 0) return status;
  FailurePlace place = *status.place();
  place.step += before;
  return placed(status.code(), std::move(place));
}

Status StepProgram::failed(const Status& status, const QueueFailure& where) const {
  FailurePlace place{.native = where.native, .step = where.iteration + 1, .node = {}, .device = {}, .text = {}};
  const std::vector<NodeId> nodes = image_nodes(executable_.graph);
  if (where.node >= 0 && static_cast<size_t>(where.node) < nodes.size())
    place.node = executable_.graph.nodes[static_cast<size_t>(nodes[static_cast<size_t>(where.node)])].name;
  if (place.native == 0 && place.step == 0 && place.node.empty()) return status;
  const std::string& device = executable_.device->name();
  const bool named = status.message().starts_with(cat(device, ": "));
  place.device = device;
  place.text = named ? status.message().substr(device.size() + 2) : status.message();
  return placed(status.code(), std::move(place));
}

Result<uint32_t> StepProgram::run(Queue& queue, uint32_t iterations, Feed* feed) {
  if (parted_) return parted_->run(queue, iterations, feed);
  Result<uint32_t> done = queue.run(*launch_, iterations, feed);
  return done.ok() ? std::move(done) : failed(done.status(), queue.failure());
}

StepProgram::StepProgram(Executable executable, const Trace& trace)
    : executable_(std::move(executable)),
      indices_(trace.indices),
      watched_(trace.watched),
      function_results_(trace.results) {
  if (!executable_.parted) launch_.emplace(executable_.make_launch());
}

Result<std::unique_ptr<StepProgram>> StepProgram::create(const Trace& trace, const std::shared_ptr<Device>& device,
                                                         const ProgramOptions& options, uint64_t seed) {
  TENON_ASSIGN(Executable executable, compile(*trace.graph, device, options));
  std::unique_ptr<StepProgram> program(new StepProgram(std::move(executable), trace));
  if (program->executable_.parted) {
    TENON_ASSIGN(program->parted_, PartedLaunch::create(program->executable_));
  }
  TENON_TRY(program->allocate_results());
  program->set_scalars(seed);
  return program;
}

Status StepProgram::allocate_results() {
  const Graph& graph = executable_.graph;
  for (size_t r = 0; r < graph.results.size(); ++r) {
    Buffer buffer;
    if (graph.results[r].alias < 0) {
      Type type = joined_type(graph, graph.results[r].value, graph.results[r].split);
      if (graph.results[r].mode == ResultMode::kEach) {
        std::vector<int64_t> dims = type.shape.vec();
        dims.insert(dims.begin(), executable_.max_iterations);
        type.shape = Shape(dims);
      }
      TENON_ASSIGN(buffer, executable_.device->allocate(type, true, graph.results[r].split));
    }
    results_.push_back(std::move(buffer));
  }
  for (size_t r = 0; r < results_.size(); ++r)
    if (results_[r]) set_arguments([&](auto& launch) { launch.set_result(static_cast<int>(r), results_[r]); });
  return {};
}

void StepProgram::set_scalars(uint64_t seed) {
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role != Role::kScalar) continue;
    const auto value = graph.inputs[i].scalar;
    const bool is_seed = graph.inputs[i].name == "seed";
    const bool is_real = !is_seed && is_float(graph.type(graph.inputs[i].value).dtype);
    const int64_t whole = is_seed ? static_cast<int64_t>(seed) : is_real ? 0 : static_cast<int64_t>(value);
    set_arguments([&](auto& launch) {
      for (int k = 0; k < executable_.max_iterations; ++k)
        is_real ? launch.set_scalar(k, executable_.slot[i], value) : launch.set_scalar(k, executable_.slot[i], whole);
    });
  }
}

void StepProgram::set_number(const std::string& scalar, double value) {
  const int input = executable_.find_input(scalar);
  if (input < 0 || executable_.graph.inputs[static_cast<size_t>(input)].role != Role::kScalar) return;
  set_arguments([&](auto& launch) {
    for (int k = 0; k < executable_.max_iterations; ++k)
      launch.set_scalar(k, executable_.slot[static_cast<size_t>(input)], value);
  });
}

const Buffer& StepProgram::borrow(const VariableStore& states, const std::string& variable) {
  return states_.emplace_back(states.variable(variable))->buffer();
}

void StepProgram::bind(const VariableStore& states) {
  states_.clear();
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kState)
      set_arguments([&, &state = borrow(states, graph.inputs[i].name)](auto& launch) {
        launch.set_input(executable_.slot[i], state);
      });
  for (size_t r = 0; r < graph.results.size(); ++r)
    if (const int alias = graph.results[r].alias; alias >= 0)
      set_arguments([&, &state = borrow(states, graph.inputs[alias].name)](auto& launch) {
        launch.set_result(static_cast<int>(r), state);
      });
}

void StepProgram::set_sizes(const DimensionSizes& sizes) {
  if (sizes_ == sizes) return;
  sizes_ = sizes;
  for (const auto& [dim, size] : sizes) {
    const int input = executable_.find_input(size_input(dim));
    set_arguments([&, &size = size](auto& launch) {
      for (int k = 0; input >= 0 && k < executable_.max_iterations; ++k)  // none: nothing depends on it
        launch.set_scalar(k, executable_.slot[static_cast<size_t>(input)], size);
    });
  }
}

void StepProgram::bind_feeds(const std::vector<const Buffer*>& feeds) {
  size_t next = 0;
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kFeed)
      set_arguments([&](auto& launch) { launch.set_input(executable_.slot[i], *feeds[next++]); });
}

Result<Array> StepProgram::read(Queue& queue, size_t r, uint32_t steps) const {
  const Buffer& buffer = results_[r];
  Type type = buffer.type();
  if (executable_.graph.results[r].mode == ResultMode::kEach) type.shape.set(0, steps);
  Array out(type);
  TENON_TRY(queue.read(buffer, out.bytes().data(), out.bytes().size()));
  return executable_.graph.results[r].split && spans_processes() ? rows_of_all(out) : Result<Array>(std::move(out));
}

bool StepProgram::spans_processes() const { return tenon::spans_processes(executable_.graph, *executable_.device); }

// Those of each process, one after the other.
Result<Array> StepProgram::rows_of_all(const Array& own) const {
  Type type = own.type();
  type.shape.set(0, type.shape[0] * executable_.device->processes());
  Array all(type);
  TENON_ASSIGN(World* const world, World::join());
  TENON_TRY(world->gather(own.bytes().data(), all.bytes().data(), own.bytes().size()));
  return all;
}

Status StepProgram::show_watched(Queue& queue, uint32_t steps, int64_t before) const {
  std::vector<Array> values;
  for (size_t k = 0; k < watched_.size(); ++k) {
    TENON_ASSIGN(Array rows, read(queue, function_results_.size() + k, steps));
    values.push_back(std::move(rows));
  }
  for (uint32_t i = 0; i < steps; ++i)
    for (size_t k = 0; k < watched_.size(); ++k)
      TENON_TRY(tenon::show_watched(watched_[k], values[k].row(i), before + i + 1, sizes_));
  return {};
}

}  // namespace tenon
