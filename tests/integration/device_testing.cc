#include "integration/device_testing.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "backend/registry.h"
#include "base/thread_pool.h"
#include "conformance/reference/error_bound.h"
#include "tenon/abi/plugin.h"

namespace tenon::device_testing {
namespace {

constexpr int kSamples = 4;
constexpr double kSpread = 8;  // how much farther than any sample a device may be

// splitmix64: the same numbers everywhere.
double uniform(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

reference::Tensor reference_tensor(const Feed& feed) {
  reference::Tensor t = reference::zeros(static_cast<int32_t>(feed.type.dtype), feed.type.shape.vec());
  if (is_float(feed.type.dtype)) t.f = feed.values;
  else t.i.assign(feed.values.begin(), feed.values.end());
  reference::round_to_dtype(t);
  return t;
}

// ---- a device with a pool of its own ----

uint32_t gang_of(void* ctx, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  return static_cast<ThreadPool*>(ctx)->gang(want, fn, arg);
}

std::shared_ptr<Device> open_with(int threads) {
  const char* folder = std::getenv("TENON_PLUGIN_PATH");
  if (!folder) throw std::runtime_error("TENON_PLUGIN_PATH is not set: ctest sets it to where cpu.so was built");
  const std::string path = std::string(folder) + "/cpu.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto init = library ? reinterpret_cast<decltype(&tenon_backend_init)>(dlsym(library, "tenon_backend_init")) : nullptr;
  if (!init) return nullptr;
  auto* host = new tenon_host{};
  host->struct_size = sizeof *host;
  host->abi_major = TENON_ABI_MAJOR;
  host->threads = static_cast<uint32_t>(threads);
  host->ctx = new ThreadPool(threads);
  host->gang = gang_of;
  auto* backend = new tenon_backend{};
  backend->struct_size = sizeof *backend;
  tenon_open open{};
  open.struct_size = sizeof open;
  tenon_device* device = nullptr;
  if (init(host, backend).code != TENON_OK || backend->device_open(backend->self, &open, &device).code != TENON_OK)
    return nullptr;
  return std::make_shared<Device>(*backend, device, "cpu", std::vector<UnitInfo>(1));
}

// ---- the reference ----

// Dots in f32 on a device that has nothing faster: no licence to round their operands.
void ask_for_f32(Graph& graph) {
  for (Node& node : graph.nodes)
    for (Attr& a : node.attrs)
      if (a.name == "precision") a.value = Enum{static_cast<int32_t>(Precision::kHighest)};
}

class Evaluation {
 public:
  Evaluation(const tenon_graph& graph, const std::vector<reference::Tensor>& inputs, bool move_inputs)
      : graph_(graph), inputs_(inputs), move_inputs_(move_inputs) {}

  // All values; with a seed, every node's floats are moved within their bound.
  std::vector<reference::Tensor> run(uint64_t seed) const {
    std::vector<reference::Tensor> values(graph_.n_values());
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i) values[graph_.input(i).value] = moved(inputs_[i], seed + i * 7919, seed && move_inputs_);
    for (uint32_t i = 0; i < graph_.n_constants(); ++i) values[graph_.constant(i).value] = constant(graph_.constant(i));
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) step(graph_.node(i), values, seed);
    return values;
  }

  reference::Tensor tolerance_of_node(uint32_t i, const std::vector<reference::Tensor>& values, int result) const {
    const plugin::NodeView node = graph_.node(i);
    std::vector<reference::Tensor> out;
    for (int k = 0; k < node.results(); ++k) out.push_back(values[node.result_id(k)]);
    return reference::bound(node, operands(node, values), out, result);
  }

 private:
  reference::Tensor constant(const tenon_constant& c) const {
    const plugin::ValueView value = graph_.value(c.value);
    std::vector<uint8_t> bytes(static_cast<size_t>(value.bytes()));
    for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = graph_.constant_data(c)[at % c.bytes];
    return reference::from_bytes(value.dtype(), value.dims().vec(), bytes.data());
  }

  static reference::Tensor moved(reference::Tensor x, uint64_t seed, bool move) {
    if (!move || x.f.empty()) return x;
    const int32_t dtype = x.dtype == TENON_F64 ? TENON_F64 : TENON_F32;
    for (double& v : x.f)
      if (std::isfinite(v) && v != 0) v += reference::spacing(dtype, v) * (uniform(seed) - 0.5);
    return x;
  }

  // A cast to a narrower float that a kernel of the whole may leave out.
  static double rounding(const plugin::NodeView& node, const reference::Tensor& y, size_t e) {
    const bool narrows = node.op() == "cast" && plugin::is_float(node.in(0).dtype()) &&
                         plugin::dtype_bytes(y.dtype) < plugin::dtype_bytes(node.in(0).dtype());
    return narrows ? reference::spacing(y.dtype, y.f[e]) / 2 : 0;
  }

  static std::vector<const reference::Tensor*> operands(const plugin::NodeView& node,
                                                        const std::vector<reference::Tensor>& values) {
    std::vector<const reference::Tensor*> in;
    for (int k = 0; k < node.operands(); ++k) in.push_back(node.has(k) ? &values[node.operand_id(k)] : nullptr);
    return in;
  }

  static void step(const plugin::NodeView& node, std::vector<reference::Tensor>& values, uint64_t seed) {
    const auto in = operands(node, values);
    std::vector<reference::Tensor> out;
    const std::string wrong = reference::evaluate_node(node, in, out);
    ASSERT_EQ(wrong, "") << node.op();
    for (reference::Tensor& t : out) reference::round_to_dtype(t);
    uint64_t state = seed * 1000003 + node.index();
    for (size_t k = 0; k < out.size() && seed; ++k) {
      if (out[k].f.empty()) continue;
      const reference::Tensor bound = reference::bound(node, in, out, static_cast<int>(k));
      for (size_t e = 0; e < bound.f.size(); ++e)
        if (std::isfinite(out[k].f[e])) out[k].f[e] += (bound.f[e] + rounding(node, out[k], e)) * (2 * uniform(state) - 1);
    }
    for (int k = 0; k < node.results(); ++k) values[node.result_id(k)] = std::move(out[static_cast<size_t>(k)]);
  }

  plugin::GraphView graph_;
  const std::vector<reference::Tensor>& inputs_;
  bool move_inputs_;
};

void widen(reference::Tensor& tolerance, const reference::Tensor& base, const reference::Tensor& sample) {
  for (size_t e = 0; e < base.f.size(); ++e) {
    const double distance = std::fabs(sample.f[e] - base.f[e]);
    if (std::isfinite(distance)) tolerance.f[e] = std::max(tolerance.f[e], distance);
  }
}

// From the farthest sample to a tolerance: a margin, and the last rounding.
void finish(reference::Tensor& tolerance, const reference::Tensor& base) {
  for (size_t e = 0; e < base.f.size(); ++e) {
    if (!std::isfinite(base.f[e])) tolerance.f[e] = 0;
    else tolerance.f[e] = kSpread * tolerance.f[e] + 2 * reference::spacing(base.dtype, base.f[e]) + reference::smallest_normal(base.dtype);
  }
}

}  // namespace

const std::shared_ptr<Device>& cpu() {
  static const auto* device = [] {
    Result<std::shared_ptr<Device>> opened = open_device("cpu");
    if (!opened.ok()) throw std::runtime_error(opened.status().message());
    return new std::shared_ptr<Device>(*opened);
  }();
  return *device;
}

const std::shared_ptr<Device>& cpu_of_threads(int threads) {
  static auto& devices = *new std::map<int, std::shared_ptr<Device>>;
  std::shared_ptr<Device>& device = devices[threads];
  if (!device) device = open_with(threads);
  if (!device) throw std::runtime_error("cpu.so cannot be opened");
  return device;
}

Feed random_feed(DType dtype, const Shape& shape, int seed, double low, double high) {
  uint64_t state = static_cast<uint64_t>(seed);
  Doubles values(static_cast<size_t>(shape.elements()));
  for (double& v : values) {
    v = low + (high - low) * uniform(state);
    if (dtype == DType::kBool) v = v > 0;
    else if (!is_float(dtype)) v = std::floor(v);
  }
  return op_testing::of(dtype, shape, std::move(values));
}

Feed repeated(DType dtype, const Shape& shape, const Doubles& values) {
  Doubles all(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = values[i % values.size()];
  return op_testing::of(dtype, shape, std::move(all));
}

Built build_graph(const Build& build, const std::vector<Feed>& feeds) {
  Built out;
  Tensors inputs;
  for (size_t i = 0; i < feeds.size(); ++i) {
    inputs.emplace_back(&out.graph, out.graph.add_input(feeds[i].type, Role::kFeed, "x" + std::to_string(i)));
    out.inputs.push_back(reference_tensor(feeds[i]));
  }
  for (const Tensor& r : build(inputs))
    if (r) out.graph.results.push_back({r.id()});
  return out;
}

Result<std::vector<reference::Tensor>> run_on(const std::shared_ptr<Device>& device, const Built& built) {
  TENON_ASSIGN(const Executable executable, compile(built.graph, device));
  TENON_ASSIGN(Queue queue, device->create_queue());
  Launch launch = executable.make_launch();
  std::vector<Buffer> inputs, results;
  for (size_t i = 0; i < executable.graph.inputs.size(); ++i) {
    const Input& input = executable.graph.inputs[i];
    const std::vector<uint8_t> bytes = reference::to_bytes(built.inputs[std::stoul(input.name.substr(1))]);
    TENON_ASSIGN(Buffer buffer, device->allocate(executable.graph.type(input.value)));
    TENON_TRY(queue.write(buffer, bytes.data(), bytes.size()));
    launch.set_input(executable.slot[i], buffer);
    inputs.push_back(std::move(buffer));
  }
  for (size_t r = 0; r < executable.graph.results.size(); ++r) {
    const Type type = executable.graph.type(executable.graph.results[r].value);
    TENON_ASSIGN(Buffer buffer, device->allocate(type));
    const std::vector<uint8_t> rubbish(static_cast<size_t>(type.bytes()), 0xFF);
    TENON_TRY(queue.write(buffer, rubbish.data(), rubbish.size()));
    launch.set_result(static_cast<int>(r), buffer);
    results.push_back(std::move(buffer));
  }
  TENON_TRY(queue.run(launch, 1).status());
  std::vector<reference::Tensor> out;
  for (const Buffer& buffer : results) {
    std::vector<uint8_t> bytes(static_cast<size_t>(buffer.type().bytes()));
    TENON_TRY(queue.read(buffer, bytes.data(), bytes.size()));
    out.push_back(reference::from_bytes(static_cast<int32_t>(buffer.type().dtype), buffer.type().shape.vec(), bytes.data()));
  }
  return out;
}

Expected expect_of(const Built& built, bool move_inputs) {
  Graph lowered = lower_to_primitives(built.graph);
  ask_for_f32(lowered);
  const GraphImage image = flatten(lowered);
  const plugin::GraphView view(*image.flat());
  const Evaluation evaluation(*image.flat(), built.inputs, move_inputs);
  const std::vector<reference::Tensor> base = evaluation.run(0);
  const bool one = view.n_nodes() == 1;
  std::vector<std::vector<reference::Tensor>> samples;
  for (uint64_t s = 1; s <= kSamples && !one; ++s) samples.push_back(evaluation.run(s));
  Expected out;
  for (uint32_t r = 0; r < view.n_results(); ++r) {
    const uint32_t v = view.result(r).value;
    reference::Tensor tolerance = reference::zeros(TENON_F64, base[v].dims);
    for (const auto& sample : samples) widen(tolerance, base[v], sample[v]);
    const bool exact = base[v].f.empty();
    if (!exact && !one) finish(tolerance, base[v]);
    for (int k = 0; one && k < view.node(0).results(); ++k)
      if (view.node(0).result_id(k) == v) tolerance = evaluation.tolerance_of_node(0, base, k);
    out.values.push_back(base[v]);
    out.tolerances.push_back(std::move(tolerance));
  }
  return out;
}

}  // namespace tenon::device_testing
