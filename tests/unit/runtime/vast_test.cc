// A device with more memory than 32 bits count, of which nothing is there: its kernels tell where they would work.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tenon/plugin/device_backend.h"
#include "tenon/plugin/graph_builder.h"

namespace tenon::plugin::testing {
namespace {

constexpr uint64_t kGiga = uint64_t{1} << 30;

// What is asked of the device, and told by it.
struct Asked {
  uint64_t largest = 1024 * kGiga;
  int compiled = 0;
  int64_t taken = 0;                       // bytes
  std::vector<uint64_t> scratch, results;  // offsets, by kernel
};
Asked asked;

struct Reached : DeviceMark {
  bool reached(uint64_t) override { return true; }
};

struct VastStream : DeviceStream {
  void copy(DeviceAddress, DeviceAddress, uint64_t) override {}
  void write(DeviceAddress, const void*, uint64_t) override {}
  void read(void*, DeviceAddress, uint64_t) override {}
  void set(DeviceAddress, const void*, uint32_t) override {}
  void after(DeviceMark&) override {}
  std::shared_ptr<DeviceMark> submit() override { return std::make_shared<Reached>(); }
};

struct VastDriver : DeviceDriver {
  void* allocate(uint64_t bytes) override {
    asked.taken += static_cast<int64_t>(bytes);
    return new char;
  }
  void release(void* memory, uint64_t bytes) override {
    asked.taken -= static_cast<int64_t>(bytes);
    delete static_cast<char*>(memory);
  }
  void* allocate_host(uint64_t) override { return nullptr; }
  void release_host(void*, uint64_t) override {}
  std::unique_ptr<DeviceStream> open_stream() override { return std::make_unique<VastStream>(); }
  uint64_t memory_bytes() const override { return 1024 * kGiga; }
  uint64_t largest_buffer() const override { return asked.largest; }
  std::string refusal(const NodeView&) const override { return {}; }
  void compiled() override { ++asked.compiled; }
};

// vast.op (a; scratch): of any shapes, with so many bytes of scratch.
void fill_vast(KernelTable& table) {
  table.add(
      "vast.op", [](const NodeView&) { return take(); },
      [](const NodeView& node, const Env&) {
        Kernel kernel;
        kernel.scratch_bytes = static_cast<uint64_t>(node.i64("scratch"));
        kernel.run = [](const Call& call) {
          asked.scratch.push_back(call.scratch_address().offset);
          asked.results.push_back(call.out_address(0).offset);
        };
        return kernel;
      });
}

std::vector<tenon_unit> vast_units(const std::string&) {
  tenon_unit unit{};
  unit.kind = TENON_ACCELERATOR;
  std::strcpy(unit.name, "vast");
  return {unit};
}

std::unique_ptr<DeviceDriver> open_vast(const std::string&, uint32_t, const tenon_host&) {
  return std::make_unique<VastDriver>();
}

class VastDevice : public ::testing::Test {
 protected:
  VastDevice() {
    static const DeviceBackend backend{"vast", "1", fill_vast, vast_units, open_vast};
    asked = {};
    table.struct_size = sizeof table;
    good(init_device_backend(backend, nullptr, &table));
    tenon_open open{};
    open.struct_size = sizeof open;
    good(table.device_open(table.self, &open, &device));
  }
  ~VastDevice() override {
    table.device_close(device);
    EXPECT_EQ(asked.taken, 0);
  }
  static void good(tenon_status s) { EXPECT_EQ(s.code, TENON_OK) << (s.message ? s.message : ""); }

  tenon_buffer* buffer(uint64_t bytes) {
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.dtype = TENON_U8;
    desc.rank = 1;
    desc.dims[0] = static_cast<int64_t>(bytes);
    tenon_buffer* out = nullptr;
    good(table.buffer_alloc(device, &desc, &out, nullptr));
    return out;
  }
  tenon_stats stats() {
    tenon_stats stats{};
    stats.struct_size = sizeof stats;
    good(table.stats(device, &stats));
    return stats;
  }
  // A chain of values of so many bytes from one of 64, whose nodes n0, n1, .. have scratch of so many; its result.
  uint32_t chain(const std::vector<uint64_t>& bytes, const std::vector<uint64_t>& scratch) {
    uint32_t x = b.input(TENON_U8, {64}, TENON_ROLE_FEED);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint32_t y = b.value(TENON_U8, {static_cast<int64_t>(bytes[i])});
      b.node("vast.op", {x}, {y}).name("n" + std::to_string(i)).attr_i64("scratch", static_cast<int64_t>(scratch[i]));
      x = y;
    }
    b.result(x);
    return x;
  }
  // "message", or nothing where it can be compiled.
  std::string compile() {
    const FlatGraph graph = b.build();
    tenon_options options{};
    options.struct_size = sizeof options;
    const tenon_status status = table.compile(device, graph.graph(), &options, &program, nullptr);
    if (status.code == TENON_OK) return "";
    EXPECT_EQ(status.code, TENON_OUT_OF_MEMORY);
    return status.message;
  }
  // What run says where the program's input is x and its result y.
  tenon_status run(tenon_queue* queue, tenon_buffer* x, tenon_buffer* y, uint64_t* ticket) {
    tenon_run run{};
    run.struct_size = sizeof run;
    run.program = program;
    run.iterations = 1;
    run.inputs = &x;
    run.results = &y;
    return table.run(queue, &run, ticket, nullptr);
  }

  GraphBuilder b;
  tenon_backend table{};
  tenon_device* device = nullptr;
  tenon_program* program = nullptr;
};

TEST_F(VastDevice, CountsBuffersInAllTheirBits) {
  tenon_buffer *x = buffer(64), *y = buffer(8 * kGiga + 64);
  EXPECT_EQ(stats().bytes_in_use, 8 * kGiga + 128);
  table.buffer_free(y);
  EXPECT_EQ(stats().bytes_in_use, 64u);
  EXPECT_EQ(stats().bytes_peak, 8 * kGiga + 128);
  table.buffer_free(x);
}

// Though the driver would give it.
TEST_F(VastDevice, GivesNoMoreThanItHas) {
  tenon_buffer *x = buffer(600 * kGiga), *y = buffer(424 * kGiga);
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_U8;
  tenon_buffer* out = nullptr;
  EXPECT_EQ(table.buffer_alloc(device, &desc, &out, nullptr).code, TENON_OUT_OF_MEMORY);
  EXPECT_EQ(stats().bytes_free, 0u);
  table.buffer_free(x);
  table.buffer_free(y);
}

TEST_F(VastDevice, SaysWhichValueIsLargerThanItsLargestBuffer) {
  asked.largest = 4 * kGiga;
  chain({64, 4 * kGiga, 64, 8 * kGiga + 64, 64, 64}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(compile(),
            "vast.op 'n3': a value of 8589934656 bytes is more than this device's largest buffer, 4294967296");
}

TEST_F(VastDevice, SaysWhoseScratchIsLargerThanItsLargestBuffer) {
  asked.largest = 4 * kGiga;
  chain({64, 64, 64, 64}, {64, 4 * kGiga, 4 * kGiga + 1, 64});
  EXPECT_EQ(compile(),
            "vast.op 'n2': scratch of 4294967297 bytes is more than this device's largest buffer, 4294967296");
}

// Values first, by their sizes; scratch is placed where nothing that is alive lies.
TEST_F(VastDevice, PlacesValuesAndScratchBeyond32Bits) {
  chain({6 * kGiga, 5 * kGiga, 64}, {64, 64, 64});
  ASSERT_EQ(compile(), "");
  EXPECT_EQ(asked.compiled, 1);
  tenon_queue* queue = nullptr;
  good(table.queue_create(device, 0, &queue));
  tenon_buffer *x = buffer(64), *y = buffer(64);
  uint64_t ticket = 0;
  good(run(queue, x, y, &ticket));
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(asked.results, (std::vector<uint64_t>{0, 6 * kGiga, 0}));
  EXPECT_EQ(asked.scratch, (std::vector<uint64_t>{6 * kGiga, 11 * kGiga, 0}));
  table.queue_destroy(queue);
  table.buffer_free(x);
  table.buffer_free(y);
  table.program_destroy(program);
}

// 64 bytes are as many as the result's in 32 bits.
TEST_F(VastDevice, TakesNoBufferThatIsSmallerThanAResultBeyond32Bits) {
  chain({4 * kGiga + 64}, {64});
  ASSERT_EQ(compile(), "");
  tenon_queue* queue = nullptr;
  good(table.queue_create(device, 0, &queue));
  tenon_buffer *x = buffer(64), *small = buffer(64), *y = buffer(4 * kGiga + 64);
  uint64_t ticket = 0;
  const tenon_status status = run(queue, x, small, &ticket);
  EXPECT_EQ(status.code, TENON_INVALID);
  EXPECT_STREQ(status.message, "run: a result buffer is smaller than the program's result");
  good(run(queue, x, y, &ticket));
  good(table.wait(queue, ticket, UINT64_MAX));
  table.queue_destroy(queue);
  for (tenon_buffer* one : {x, small, y}) table.buffer_free(one);
  table.program_destroy(program);
}

}  // namespace
}  // namespace tenon::plugin::testing
