#include "ops/movement.h"

#include <algorithm>
#include <cstring>

#include "device/spread.h"
#include "device/table.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {

using tenon::plugin::Dims;
using tenon::plugin::item;
using tenon::plugin::Span;
using tenon::plugin::strides_of;
using tenon::plugin::Walk;

namespace {

constexpr int kMostJoined = 8;  // kernels/movement/movement.cl
struct Box {                    // the same
  cl_ulong n[8];
  cl_long y_stride[8], x_stride[8];
  cl_long y_start, x_start;
  cl_int first, unused;
};

Box box_of(const Walk<2>& walk) {
  Box b{};
  std::fill_n(b.n, 8, 1);
  auto axes = walk.axes().vec();
  // An order of the axes that makes y's neighbours the last one and x's the one before; where they are one, it stays
  // last.
  const auto put_last = [&](size_t which, size_t end) {
    for (size_t d = 0; d < end; ++d)
      if (axes[d].stride[which] == 1) {
        std::rotate(axes.begin() + d, axes.begin() + d + 1, axes.begin() + end);
        return;
      }
  };
  put_last(1, axes.size());
  if (axes.back().stride[0] != 1) put_last(0, axes.size() - 1);
  b.first = static_cast<cl_int>(8 - axes.size());
  for (size_t d = 0; d < axes.size(); ++d) {
    b.n[b.first + d] = static_cast<cl_ulong>(axes[d].n);
    b.x_stride[b.first + d] = axes[d].stride[0];
    b.y_stride[b.first + d] = axes[d].stride[1];
  }
  b.x_start = walk.start()[0];
  b.y_start = walk.start()[1];
  return b;
}

uint64_t rows_above(const Box& b, int axis) {
  uint64_t rows = 1;
  for (int d = b.first; d < axis; ++d) rows *= b.n[d];
  return rows;
}

bool wants_tiles(const Box& b) {
  return b.y_stride[7] == 1 && b.x_stride[7] != 1 && b.x_stride[7] != 0 && b.x_stride[6] == 1 && b.n[6] >= 4 &&
         b.n[7] >= 4;
}

Launch tiles_launch(Driver& driver, const Box& b, const std::string& options, int operand) {
  const bool cpu = driver.style() == KernelStyle::kCpu;
  const uint64_t tile = cpu ? 16 : 32, outer = rows_above(b, 6);
  const uint64_t tiles = outer * ((b.n[6] + tile - 1) / tile) * ((b.n[7] + tile - 1) / tile);
  Launch launch(driver, "movement", "move_tiles", options);
  launch.out(0).in(operand).bytes(&b, sizeof b).value<cl_ulong>(outer);
  if (cpu) return launch.items(tiles * tile * tile, 8 * tile * tile);
  return launch.groups({std::min<uint64_t>(tiles, 64 * driver.compute_units())}, {128});
}

}  // namespace

const char* element_type(int64_t bytes) {
  return bytes == 8 ? "ulong" : bytes == 4 ? "uint" : bytes == 2 ? "ushort" : "uchar";
}

Launch move_launch(Driver& driver, const Walk<2>& walk, int64_t element_bytes, int operand) {
  const Box b = box_of(walk);
  const std::string options = std::string("-D E=") + element_type(element_bytes);
  if (wants_tiles(b)) return tiles_launch(driver, b, options, operand);
  constexpr uint64_t kPart = 4096;
  const uint64_t rows = rows_above(b, 7), cuts = (b.n[7] + kPart - 1) / kPart;
  Launch launch(driver, "movement", "move", options);
  launch.out(0).in(operand).bytes(&b, sizeof b).value<cl_ulong>(rows).value<cl_ulong>(cuts).value<cl_ulong>(kPart);
  return launch.items(rows * b.n[7]);
}

void copy_through(const Call& call, int i, uint64_t bytes) {
  const auto from = call.in_address(i), to = call.out_address(i);
  if (from.memory != to.memory || from.offset != to.offset) call.stream->copy(to, from, bytes);
}

namespace {

Kernel move_kernel(Driver& driver, const NodeView& node, const Dims& x_strides, int64_t x_start = 0) {
  const Walk<2> walk(node.out(0).dims(), {x_strides, strides_of(node.out(0))}, {x_start, 0});
  return kernel_of({move_launch(driver, walk, dtype_bytes(node.out(0).dtype()), 0)});
}

Kernel reshape(Driver&, const NodeView& node) {
  Kernel kernel;
  kernel.in_place = {{0, 0}};
  kernel.run = [bytes = static_cast<uint64_t>(node.out(0).bytes())](const Call& call) { copy_through(call, 0, bytes); };
  return kernel;
}

Kernel transpose(Driver& driver, const NodeView& node) {
  const Dims from = strides_of(node.in(0));
  Dims strides;
  for (int64_t axis : node.list("perm")) strides.push_back(from[axis]);
  return move_kernel(driver, node, strides);
}

Kernel broadcast(Driver& driver, const NodeView& node) {
  const Dims from = strides_of(node.in(0));
  Dims strides(node.out(0).rank());
  for (int i = 0; i < node.in(0).rank(); ++i)
    if (node.in(0).dim(i) != 1) strides[node.list("dims")[i]] = from[i];
  return move_kernel(driver, node, strides);
}

Kernel slice(Driver& driver, const NodeView& node) {
  const SlicedFrom from = sliced_from(node);
  return move_kernel(driver, node, from.strides, from.start);
}

Kernel reverse(Driver& driver, const NodeView& node) {
  Dims strides = strides_of(node.in(0));
  int64_t start = 0;
  for (int64_t d : node.list("axes")) {
    start += (node.in(0).dims()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return move_kernel(driver, node, strides, start);
}

Launch fill_launch(Driver& driver, const ValueView& y, double value) {
  const int64_t width = dtype_bytes(y.dtype());
  const uint64_t n = static_cast<uint64_t>(y.elements());
  Launch launch(driver, "movement", "fill", std::string("-D E=") + element_type(width));
  launch.out(0).value<cl_ulong>(n);
  unsigned char element[8] = {};
  dispatch(tenon::plugin::All{}, y.dtype(), [&](auto t) {
    const auto converted = tenon::plugin::convert<decltype(t)>(value);
    std::memcpy(element, &converted, sizeof converted);
  });
  return launch.bytes(element, static_cast<size_t>(width)).items(n);
}

Kernel pad(Driver& driver, const NodeView& node) {
  Dims strides = strides_of(node.out(0));
  int64_t start = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    start += item(node, "low", d, 0) * strides[d];
    strides[d] *= 1 + item(node, "interior", d, 0);
  }
  const Walk<2> walk(node.in(0).dims(), {strides_of(node.in(0)), strides}, {0, start});
  std::vector<Launch> launches;
  if (node.out(0).elements() != node.in(0).elements())
    launches.push_back(fill_launch(driver, node.out(0), node.f64("value")));
  launches.push_back(move_launch(driver, walk, dtype_bytes(node.out(0).dtype()), 0));
  return kernel_of(std::move(launches));
}

// Operands `first` to `last`, which have the same dims: the walk is the first one's.
Launch join_launch(Driver& driver, const Walk<2>& walk, int64_t element_bytes, int first, int last, int64_t apart) {
  const Box b = box_of(walk);
  Launch launch(driver, "movement", "join", std::string("-D E=") + element_type(element_bytes));
  launch.out(0);
  for (int k = 0; k < kMostJoined; ++k) launch.in(std::min(first + k, last));
  const uint64_t boxes = static_cast<uint64_t>(last - first + 1), rows = rows_above(b, 7);
  launch.bytes(&b, sizeof b).value<cl_ulong>(boxes).value<cl_ulong>(static_cast<cl_ulong>(apart));
  return launch.value<cl_ulong>(rows).items(boxes * rows * b.n[7]);
}

Kernel concat(Driver& driver, const NodeView& node) {
  const int axis = static_cast<int>(node.i64("axis"));
  const Dims strides = strides_of(node.out(0));
  const int64_t width = dtype_bytes(node.out(0).dtype());
  std::vector<Launch> launches;
  int64_t before = 0;
  for (int i = 0; i < node.operands();) {
    int last = i;
    while (last + 1 < node.operands() && last - i + 1 < kMostJoined &&
           node.in(last + 1).dim(axis) == node.in(i).dim(axis))
      ++last;
    const Walk<2> walk(node.in(i).dims(), {strides_of(node.in(i)), strides}, {0, before * strides[axis]});
    const int64_t each = node.in(i).dim(axis);
    launches.push_back(last > i ? join_launch(driver, walk, width, i, last, each * strides[axis])
                                : move_launch(driver, walk, width, i));
    before += each * (last - i + 1);
    i = last + 1;
  }
  return kernel_of(std::move(launches));
}

Kernel iota(Driver& driver, const NodeView& node) {
  const ValueView y = node.out(0);
  const int axis = static_cast<int>(node.i64("axis"));
  const bool narrow = y.dtype() == TENON_BF16 || y.dtype() == TENON_F16;
  const uint64_t n = static_cast<uint64_t>(y.elements());
  Launch launch(driver, "movement", "iota",
                std::string("-D D=") + dtype_name(y.dtype()) +
                    (narrow ? " -D FROM_INTEGER=odd_float_i64" : " -D FROM_INTEGER=(long)"));
  launch.out(0).value<cl_ulong>(n).value<cl_ulong>(static_cast<cl_ulong>(y.dim(axis)));
  return kernel_of({launch.value<cl_ulong>(static_cast<cl_ulong>(strides_of(y)[axis])).items(n)});
}

}  // namespace

void add_movement(KernelTable& table) {
  using namespace tenon::plugin;
  const auto add = [&](const char* op, Kernel (*make)(Driver&, const NodeView&)) {
    table.add(op, takes<All>(),
              [make](const NodeView& node, const Env& env) { return make(driver_of(*env.device), node); });
  };
  add("reshape", opencl_gpu::reshape);
  add("transpose", opencl_gpu::transpose);
  add("broadcast", opencl_gpu::broadcast);
  add("slice", opencl_gpu::slice);
  add("reverse", opencl_gpu::reverse);
  add("pad", opencl_gpu::pad);
  add("concat", opencl_gpu::concat);
  table.add("iota", takes<Numbers>(),
            [](const NodeView& node, const Env& env) { return opencl_gpu::iota(driver_of(*env.device), node); });
}

}  // namespace opencl_gpu
