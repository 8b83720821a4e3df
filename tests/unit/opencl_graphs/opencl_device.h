// The device that these tests run on.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/host/subject.h"
#include "conformance/reference/reference.h"

namespace tenon::conformance {

inline std::string plugin_path(const char* name) { return std::getenv("TENON_PLUGIN_PATH") + std::string("/") + name; }

// nullptr: OpenCL has no device here. Any other failure is thrown.
inline Subject* opencl() {
  static const std::unique_ptr<Subject> subject = [] {
    try {
      auto made = std::make_unique<Subject>(plugin_path("opencl-gpu.so"), 1, 2);
      made->device();
      return made;
    } catch (const Unavailable&) {
      return std::unique_ptr<Subject>();
    } catch (const Failure& f) {
      throw std::runtime_error(f.text);
    } catch (const Unsupported& u) {
      throw std::runtime_error(u.reason);
    }
  }();
  return subject.get();
}

// Floats in [-1, 1], of few bits, for a graph's inputs; integers are 12345.
inline std::vector<reference::Tensor> drawn_inputs(const plugin::FlatGraph& flat) {
  const plugin::GraphView graph(*flat.graph());
  std::mt19937 random(5);
  std::vector<reference::Tensor> inputs;
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) {
    const plugin::ValueView v = graph.value(graph.input(i).value);
    inputs.push_back(reference::zeros(v.dtype(), v.dims().vec()));
    for (double& x : inputs.back().f) x = static_cast<double>(random() % 4001) / 2000 - 1;
    for (int64_t& x : inputs.back().i) x = 12345;
    reference::round_to_dtype(inputs.back());
  }
  return inputs;
}

// Nodes that the device runs for a graph, as it tells who traces it.
inline size_t traced_nodes(const plugin::FlatGraph& graph, const std::vector<reference::Tensor>& inputs) {
  std::atomic<size_t> events{0};
  const tenon_sink sink{sizeof sink, 0, &events, [](void* ctx, const tenon_event*, uint32_t n, uint64_t) {
                          *static_cast<std::atomic<size_t>*>(ctx) += n;
                        }};
  tenon_options options{};
  options.struct_size = sizeof options;
  options.flags = TENON_OPTION_TRACE;
  EXPECT_EQ(opencl()->backend().trace(opencl()->device(), &sink).code, TENON_OK);
  run_graph(*opencl(), *graph.graph(), inputs, Place::kDevice, options);
  EXPECT_EQ(opencl()->backend().trace(opencl()->device(), nullptr).code, TENON_OK);
  return events;
}

class OnOpencl : public testing::Test {
 protected:
  void SetUp() override {
    if (!opencl()) GTEST_SKIP() << "no OpenCL device";
  }
};

}  // namespace tenon::conformance
