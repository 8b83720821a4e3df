// Tensors of more than 2^31 bytes.
#include <algorithm>
#include <cstring>

#include "conformance/host/lowering.h"
#include "conformance/sanitizer.h"
#include "conformance/suites/values/cases.h"
#include "tenon/plugin/host_limits.h"

namespace tenon::conformance {
namespace {

using plugin::GraphView;

constexpr uint64_t kPart = 16u << 20;  // bytes at a time

std::string gibibytes(uint64_t bytes) { return std::to_string((bytes >> 28) / 4.0).substr(0, 5) + " GiB"; }

void require_memory(Subject& subject, const Case& c) {
  const uint64_t needed = c.min_memory + c.min_memory / 4;
  const tenon_unit& unit = subject.units()[0];
  if (unit.memory_bytes && unit.memory_bytes < needed)
    throw Unavailable{"needs " + gibibytes(needed) + ", the unit has " + gibibytes(unit.memory_bytes)};
  if (const uint64_t free = plugin::host_memory().left; free < kBytesPerByte * needed + (uint64_t{1} << 30))
    throw Unavailable{"needs " + gibibytes(kBytesPerByte * needed) + ", " + gibibytes(free) + " are free"};
  const GraphView view(*c.whole.graph());
  for (uint32_t v = 0; v < view.n_values() && unit.max_buffer_bytes; ++v)
    if (static_cast<uint64_t>(view.value(v).bytes()) > unit.max_buffer_bytes)
      throw Unavailable{"needs a buffer of " + gibibytes(static_cast<uint64_t>(view.value(v).bytes())) +
                        ", the unit allows " + gibibytes(unit.max_buffer_bytes)};
}

// Calls work(first element, elements) for parts of whole rows of axis 0, as copies need them.
template <class Work>
void for_each_part(const Buffer& buffer, Work work) {
  const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(buffer.dtype()));
  const uint64_t rows = buffer.dims().empty() ? 1 : static_cast<uint64_t>(buffer.dims()[0]),
                 row = buffer.bytes() / rows;
  const uint64_t at_once = std::max<uint64_t>(1, kPart / row);
  for (uint64_t r = 0; r < rows; r += at_once) work(r * row / width, std::min(at_once, rows - r) * row / width);
}

// One period of a fill of values, repeated, is copied instead of being made again.
class FillMaker {
 public:
  FillMaker(int32_t dtype, const Fill& fill)
      : dtype_(dtype), fill_(fill), width_(static_cast<uint64_t>(plugin::dtype_bytes(dtype))) {
    if (fill.kind != Fill::kValues) return;
    period_.resize(fill.values.size() * width_);
    make_bytes(dtype, fill, 0, fill.values.size(), period_.data());
  }
  void make(uint64_t first, uint64_t count, std::vector<uint8_t>& out) const {
    out.resize(count * width_);
    if (period_.empty()) return make_bytes(dtype_, fill_, first, count, out.data());
    uint64_t from = first * width_ % period_.size();
    for (uint64_t to = 0; to < out.size(); from = 0) {
      const uint64_t n = std::min(out.size() - to, period_.size() - from);
      std::memcpy(out.data() + to, period_.data() + from, n);
      to += n;
    }
  }

 private:
  int32_t dtype_;
  Fill fill_;
  uint64_t width_;
  std::vector<uint8_t> period_;
};

void write_parts(Queue& queue, const Buffer& buffer, const Fill& fill) {
  const FillMaker maker(buffer.dtype(), fill);
  const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(buffer.dtype()));
  std::vector<uint8_t> bytes;
  for_each_part(buffer, [&](uint64_t first, uint64_t count) {
    maker.make(first, count, bytes);
    queue.write(buffer, bytes.data(), bytes.size(), first * width);
  });
}

void check_parts(Queue& queue, const Buffer& buffer, const Fill& fill, const std::string& what) {
  const FillMaker maker(buffer.dtype(), fill);
  const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(buffer.dtype()));
  std::vector<uint8_t> found, expected;
  for_each_part(buffer, [&](uint64_t first, uint64_t count) {
    maker.make(first, count, expected);
    found.assign(expected.size(), 0xFF);
    queue.read(buffer, found.data(), found.size(), first * width);
    if (std::memcmp(found.data(), expected.data(), found.size()) == 0) return;
    const uint64_t at =
        static_cast<uint64_t>(std::mismatch(found.begin(), found.end(), expected.begin()).first - found.begin()) /
        width;
    const auto value = [&](const std::vector<uint8_t>& bytes) {
      const reference::Tensor t = reference::from_bytes(buffer.dtype(), {}, bytes.data() + at * width);
      return t.f.empty() ? std::to_string(t.i[0]) : std::to_string(t.f[0]);
    };
    fail(what + ": element " + std::to_string(first + at) + " is " + value(found) + ", expected " + value(expected));
  });
}

}  // namespace

void check_large(Subject& subject, const Case& c) {
  const tenon_graph& graph = *c.whole.graph();
  const GraphView view(graph);
  require_memory(subject, c);
  require_taken(subject, subject.device(), graph);
  Program program(subject, subject.device(), graph);
  Queue queue(subject, subject.device());
  std::vector<Buffer> inputs, results;
  std::vector<tenon_buffer*> in, out;
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    expect(view.input(i).role != TENON_ROLE_SCALAR, "a large case has a scalar");
    const plugin::ValueView value = view.value(view.input(i).value);
    inputs.emplace_back(subject, subject.device(), value.dtype(), value.dims().vec());
    write_parts(queue, inputs.back(), c.inputs[i]);
    in.push_back(inputs.back().handle());
  }
  for (uint32_t r = 0; r < view.n_results(); ++r) {
    const plugin::ValueView value = view.value(view.result(r).value);
    results.emplace_back(subject, subject.device(), value.dtype(), value.dims().vec());
    out.push_back(results.back().handle());
  }
  tenon_run run{};
  run.program = program.handle();
  run.inputs = in.data();
  run.results = out.data();
  queue.wait(queue.submit(run));
  for (uint32_t r = 0; r < view.n_results(); ++r)
    check_parts(queue, results[r], c.expected[r], "result " + std::to_string(r + 1));
}

}  // namespace tenon::conformance
