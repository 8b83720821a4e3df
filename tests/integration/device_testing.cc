#include "integration/device_testing.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "backend/registry.h"
#include "base/process/thread_pool.h"
#include "tenon/abi/plugin.h"

namespace tenon::device_testing {
namespace {

// splitmix64: the same numbers everywhere.
double uniform(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

reference::Tensor reference_tensor(const Feed& feed) {
  reference::Tensor t = reference::zeros(static_cast<int32_t>(feed.type.dtype), feed.type.shape.vec());
  if (is_float(feed.type.dtype))
    t.f = feed.values;
  else
    t.i.assign(feed.values.begin(), feed.values.end());
  reference::round_to_dtype(t);
  return t;
}

// ---- a device with a pool of its own ----

uint32_t gang_of(void* ctx, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  return static_cast<ThreadPool*>(ctx)->gang(want, fn, arg);
}

// What a backend may keep for ever.
struct Host {
  explicit Host(int threads) : pool(threads) {
    table.struct_size = sizeof table;
    table.abi_major = TENON_ABI_MAJOR;
    table.threads = static_cast<uint32_t>(threads);
    table.ctx = &pool;
    table.gang = gang_of;
    backend.struct_size = sizeof backend;
  }
  ThreadPool pool;
  tenon_host table{};
  tenon_backend backend{};
};

std::shared_ptr<Device> open_with(int threads) {
  const char* folder = std::getenv("TENON_PLUGIN_PATH");
  if (!folder) throw std::runtime_error("TENON_PLUGIN_PATH is not set: ctest sets it to where cpu.so was built");
  const std::string path = std::string(folder) + "/cpu.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto init =
      library ? reinterpret_cast<decltype(&tenon_backend_init)>(dlsym(library, "tenon_backend_init")) : nullptr;
  if (!init) return nullptr;
  static auto& hosts = *new std::vector<std::unique_ptr<Host>>;
  hosts.push_back(std::make_unique<Host>(threads));
  tenon_backend& backend = hosts.back()->backend;
  tenon_open open{};
  open.struct_size = sizeof open;
  tenon_device* device = nullptr;
  if (init(&hosts.back()->table, &backend).code != TENON_OK ||
      backend.device_open(backend.self, &open, &device).code != TENON_OK)
    return nullptr;
  return std::make_shared<Device>(backend, device, "cpu", std::vector<UnitInfo>(1));
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
    if (dtype == DType::kBool)
      v = v > 0;
    else if (!is_float(dtype))
      v = std::floor(v);
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
    const GraphInput& input = executable.graph.inputs[i];
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
    out.push_back(
        reference::from_bytes(static_cast<int32_t>(buffer.type().dtype), buffer.type().shape.vec(), bytes.data()));
  }
  return out;
}

}  // namespace tenon::device_testing
