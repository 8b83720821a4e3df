#include "step/program.h"

#include "op/replicas.h"

namespace tenon {
StepProgram::StepProgram(Executable executable, const Trace& trace)
    : executable_(std::move(executable)),
      indices_(trace.indices),
      watched_(trace.watched),
      dims_(trace.dims),
      launch_(executable_.make_launch()) {
  for (const Output& result : executable_.graph.results) function_results_ += result.alias < 0;
  function_results_ -= watched_.size();
}

Result<std::unique_ptr<StepProgram>> StepProgram::create(const Trace& trace, const std::shared_ptr<Device>& device,
                                                         const ProgramOptions& options, uint64_t seed) {
  TENON_ASSIGN(Executable executable, compile(*trace.graph, device, options));
  std::unique_ptr<StepProgram> program(new StepProgram(std::move(executable), trace));
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
      launch_.set_result(static_cast<int>(r), buffer);
    }
    results_.push_back(std::move(buffer));
  }
  return {};
}

void StepProgram::set_scalars(uint64_t seed) {
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].role != Role::kScalar) continue;
    for (int k = 0; k < executable_.max_iterations; ++k) {
      if (graph.inputs[i].name == "seed")
        launch_.set_scalar(k, executable_.slot[i], static_cast<int64_t>(seed));
      else if (is_float(graph.type(graph.inputs[i].value).dtype))
        launch_.set_scalar(k, executable_.slot[i], graph.inputs[i].scalar);
      else
        launch_.set_scalar(k, executable_.slot[i], static_cast<int64_t>(graph.inputs[i].scalar));
    }
  }
}

const Buffer& StepProgram::borrow(const VariableStore& states, const std::string& variable) {
  return *states_.emplace_back(states.buffer(variable));
}

void StepProgram::bind(const VariableStore& states) {
  states_.clear();
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kState)
      launch_.set_input(executable_.slot[i], borrow(states, graph.inputs[i].name));
  for (size_t r = 0; r < graph.results.size(); ++r)
    if (const int alias = graph.results[r].alias; alias >= 0)
      launch_.set_result(static_cast<int>(r), borrow(states, graph.inputs[alias].name));
}

void StepProgram::set_sizes(const DimensionSizes& sizes) {
  if (sizes_ == sizes) return;
  sizes_ = sizes;
  for (const auto& [dim, size] : sizes) {
    const int input = executable_.find_input(size_input(dim));
    for (int k = 0; input >= 0 && k < executable_.max_iterations; ++k)  // none: nothing depends on it
      launch_.set_scalar(k, executable_.slot[static_cast<size_t>(input)], size);
  }
}

void StepProgram::bind_feeds(const std::vector<const Buffer*>& feeds) {
  size_t next = 0;
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kFeed) launch_.set_input(executable_.slot[i], *feeds[next++]);
}

Result<Array> StepProgram::read(Queue& queue, size_t r, uint32_t steps) const {
  const Buffer& buffer = results_[r];
  Type type = buffer.type();
  if (executable_.graph.results[r].mode == ResultMode::kEach) type.shape.set(0, steps);
  Array out(type);
  TENON_TRY(queue.read(buffer, out.bytes().data(), out.bytes().size()));
  return out;
}

Status StepProgram::show_watched(Queue& queue, uint32_t steps, int64_t before) const {
  std::vector<Array> values;
  for (size_t k = 0; k < watched_.size(); ++k) {
    TENON_ASSIGN(Array rows, read(queue, function_results_ + k, steps));
    values.push_back(std::move(rows));
  }
  for (uint32_t i = 0; i < steps; ++i)
    for (size_t k = 0; k < watched_.size(); ++k)
      TENON_TRY(tenon::show_watched(watched_[k], values[k].row(i), before + i + 1, sizes_));
  return {};
}

}  // namespace tenon
