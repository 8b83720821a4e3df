// Several units as one device, for the collectives suite.
#pragma once

#include <memory>
#include <vector>

#include "conformance/suites/run/lowered_collectives.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {

constexpr int64_t kUnitRows = 3, kUnitColumns = 5;  // of one unit

// A device on as many units of unit 0's domain as there are, at most 8; closed at the end.
struct Replicas {
  Replicas(Subject& subject, uint32_t least) : s(subject), n(count(s)) {
    if (n < least) throw Unavailable{"there is one unit"};
    device = s.open_device(n);
    queue.emplace_back(s, device);
  }
  ~Replicas() {
    queue.clear();
    buffers.clear();
    s.backend().device_close(device);
  }

  static uint32_t count(Subject& s) {
    const std::vector<tenon_unit>& units = s.units();
    uint32_t n = 1;
    while (n < units.size() && n < 8 && units[n].domain == units[0].domain) ++n;
    return n;
  }

  // f32 of this global shape.
  Buffer& make(const Dims& dims, int32_t placement, const Floats& values = {}, int32_t dtype = TENON_F32) {
    BufferOptions options;
    options.placement = placement;
    buffers.push_back(std::make_unique<Buffer>(s, device, dtype, dims, options));
    if (values.empty())
      queue[0].write_rubbish(*buffers.back());
    else
      write(queue[0], *buffers.back(), values);
    return *buffers.back();
  }
  void run(const Sketch& sketch, Arguments arguments) {
    const Program program = compile(s, lowered_collectives(s, device, sketch.builder.build()), 4, device);
    run_now(queue[0], program, std::move(arguments));
  }
  Floats get(const Buffer& buffer) { return read(queue[0], buffer); }
  int64_t units() const { return n; }

  Subject& s;
  uint32_t n;
  tenon_device* device = nullptr;
  std::vector<Queue> queue;
  std::vector<std::unique_ptr<Buffer>> buffers;
};

inline uint32_t split_input(Sketch& sketch, const Dims& dims) {
  return sketch.builder.input(TENON_F32, dims, TENON_ROLE_FEED, {}, TENON_SPLIT);
}

}  // namespace tenon::conformance
