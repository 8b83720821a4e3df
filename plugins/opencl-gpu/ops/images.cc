// crop_flip, resize, affine_image.
#include "device/table.h"
#include "ops/movement.h"
#include "ops/shapes.h"
#include "tenon/op/names.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {
namespace {

struct Images {  // kernels/movement/images.cl
  cl_long n, h, w, c, from_h, from_w;
};

Launch& finish_images(Launch& launch, const NodeView& node) {
  const ValueView x = node.in(0), y = node.out(0);
  launch.value(Images{x.dim(0), y.dim(1), y.dim(2), x.dim(3), x.dim(1), x.dim(2)});
  return launch.items(static_cast<uint64_t>(y.elements()));
}

Verdict accept_images(const NodeView& node) {
  return node.in(0).rank() == 4 ? tenon::plugin::take() : refuse(std::string(node.op()) + ": images must be [N,H,W,C]");
}
Verdict accept_floats(const NodeView& node) { return is_float(node.in(0).dtype()) ? accept_images(node) : decompose(); }

Verdict accept_crop(const NodeView& node) {
  const int32_t top = node.in(tenon::op::crop_flip::top).dtype();
  if ((top != TENON_I32 && top != TENON_I64) || node.in(tenon::op::crop_flip::left).dtype() != top) return decompose();
  return accept_images(node);
}

Kernel crop_flip(Driver& driver, const NodeView& node) {
  using op = tenon::op::crop_flip;
  const bool flips = node.has(op::flip);
  Launch launch(driver, "images", "crop_flip",
                std::string("-D E=") + element_type(dtype_bytes(node.in(op::x).dtype())) +
                    " -D OFFSET=" + dtype_name(node.in(op::top).dtype()));
  launch.out(op::out::y).in(op::x).in(op::top).in(op::left).in(flips ? op::flip : op::x);
  finish_images(launch, node).value<cl_int>(flips);
  return kernel_of({launch});
}

std::string float_options(const NodeView& node) {
  const int32_t dtype = node.in(0).dtype();
  return std::string("-D X=") + dtype_name(dtype) + " -D ACC=" + dtype_name(sum_dtype(dtype)) +
         (node.enumerator("method", TENON_RESIZE_BILINEAR) == TENON_RESIZE_BILINEAR ? "" : " -D NEAREST");
}

struct Places {  // kernels/movement/images.cl
  cl_long up, shift, down;
};

Places places_of(int32_t coords, int64_t from, int64_t to) {
  if (coords == TENON_COORDS_HALF_PIXEL) return {2 * from, from - to, 2 * to};
  if (coords == TENON_COORDS_ALIGN_CORNERS && to > 1) return {from - 1, 0, to - 1};
  return {from, 0, to};
}

Kernel resize(Driver& driver, const NodeView& node) {
  const int32_t coords = node.enumerator("coords", TENON_COORDS_HALF_PIXEL);
  const ValueView x = node.in(0), y = node.out(0);
  Launch launch(driver, "images", "resize",
                float_options(node) + " -D RESIZE -D FLOOR=" + (coords == TENON_COORDS_LEGACY ? "1" : "0"));
  launch.out(0).in(0);
  finish_images(launch, node).value(places_of(coords, x.dim(1), y.dim(1))).value(places_of(coords, x.dim(2), y.dim(2)));
  return kernel_of({launch});
}

Kernel affine_image(Driver& driver, const NodeView& node) {
  using op = tenon::op::affine_image;
  Launch launch(driver, "images", "affine_image",
                float_options(node) + " -D THETA=" + dtype_name(node.in(op::theta).dtype()) +
                    " -D FILL=" + std::to_string(node.enumerator("fill")));
  launch.out(op::out::y).in(op::x).in(op::theta);
  finish_images(launch, node);
  return kernel_of({launch});
}

}  // namespace

void add_images(KernelTable& table) {
  const auto add = [&](const char* op, Verdict (*accept)(const NodeView&), Kernel (*make)(Driver&, const NodeView&)) {
    table.add(op, accept, [make](const NodeView& node, const Env& env) { return make(driver_of(*env.device), node); });
  };
  add("crop_flip", accept_crop, crop_flip);
  add("resize", accept_floats, opencl_gpu::resize);
  add("affine_image", accept_floats, affine_image);
}

}  // namespace opencl_gpu
