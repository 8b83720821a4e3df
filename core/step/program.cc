#include "step/program.h"

#include <cstring>

#include "base/half.h"
#include "base/text.h"
#include "op/replicas.h"

namespace tenon {
namespace {

float as_float(DType dtype, const std::byte* p) {
  const auto read = [p](auto value) {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::kF32:
      return read(float{});
    case DType::kF64:
      return static_cast<float>(read(double{}));
    case DType::kBF16:
      return from_bf16(read(uint16_t{}));
    case DType::kF16:
      return from_f16(read(uint16_t{}));
    case DType::kI32:
      return static_cast<float>(read(int32_t{}));
    case DType::kI64:
      return static_cast<float>(read(int64_t{}));
    default:
      return static_cast<float>(read(uint8_t{}));
  }
}

}  // namespace

Result<std::unique_ptr<StepProgram>> StepProgram::create(const Trace& trace, const std::shared_ptr<Device>& device,
                                                         const ProgramOptions& options, uint64_t seed) {
  TENON_ASSIGN(Executable executable, compile(*trace.graph, device, options));
  std::unique_ptr<StepProgram> program(new StepProgram(std::move(executable), trace.indices));
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

void StepProgram::bind(const VariableStore& states) {
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kState)
      launch_.set_input(executable_.slot[i], states.buffer(graph.inputs[i].name));
  for (size_t r = 0; r < graph.results.size(); ++r)
    if (const int alias = graph.results[r].alias; alias >= 0)
      launch_.set_result(static_cast<int>(r), states.buffer(graph.inputs[alias].name));
}

void StepProgram::bind_feeds(const std::vector<const Buffer*>& feeds) {
  size_t next = 0;
  const Graph& graph = executable_.graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].role == Role::kFeed) launch_.set_input(executable_.slot[i], *feeds[next++]);
}

const Type& StepProgram::result_type(std::string_view result) const {
  return executable_.graph.type(executable_.graph.results[executable_.find_result(result)].value);
}

Result<Array> StepProgram::read(Queue& queue, size_t r, uint32_t steps) const {
  const Buffer& buffer = results_[r];
  Type type = buffer.type();
  if (executable_.graph.results[r].mode == ResultMode::kEach) type.shape.set(0, steps);
  Array out(type);
  TENON_TRY(queue.read(buffer, out.bytes().data(), out.bytes().size()));
  return out;
}

Status StepProgram::read_rows(Queue& queue, std::string_view result, uint32_t n, std::vector<float>& out) const {
  out.resize(n * static_cast<size_t>(result_type(result).shape.elements()));
  return queue.read(results_[executable_.find_result(result)], out.data(), out.size() * sizeof(float));
}

Status StepProgram::read_floats(Queue& queue, std::string_view result, std::vector<float>& out) const {
  const Buffer& buffer = results_[executable_.find_result(result)];
  const Type& type = buffer.type();
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  TENON_TRY(queue.read(buffer, bytes.data(), bytes.size()));
  const auto size = static_cast<size_t>(dtype_bytes(type.dtype));
  out.resize(bytes.size() / size);
  for (size_t i = 0; i < out.size(); ++i) out[i] = as_float(type.dtype, &bytes[i * size]);
  return {};
}

}  // namespace tenon
