// crop_flip     y[n,r,c] = x[n, top + r, left + (flip ? w-1-c : c)]
// affine_image  y[n,r,c] = x at (a0 c + a1 r + a2, b0 c + b1 r + b2) / (c0 c + c1 r + 1), theta = a b c
// resize        y[n,r,c] = x at the place that `coords` gives (r, c)
// x [N,H,W,C], y [N,h,w,C]
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/element.h"
#include "kernels/movement/movement.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct Images {
  int64_t n, H, W, C, h, w;
};
Images images_of(const NodeView& node) {
  const auto x = node.in(0), y = node.out(0);
  return {x.dim(0), x.dim(1), x.dim(2), x.dim(3), y.dim(1), y.dim(2)};
}

plugin::Verdict accept_image(const NodeView& node) {
  return node.in(0).rank() == 4 ? plugin::take() : plugin::refuse("images must be [N,H,W,C]");
}
plugin::Verdict accept_float_image(const NodeView& node) {
  if (!plugin::is_float(node.in(0).dtype())) return plugin::refuse("images must be float");
  return accept_image(node);
}
plugin::Verdict accept_crop(const NodeView& node) {
  for (int i = 1; i < 3; ++i) {
    const int32_t t = node.in(i).dtype();
    if (t != TENON_I32 && t != TENON_I64) return plugin::refuse("crop_flip: offsets must be i32 or i64");
  }
  return accept_image(node);
}

// ---- crop_flip ----

int64_t integer(const Call& call, int operand, bool wide, int64_t i) {
  return wide ? call.in<int64_t>(operand)[i] : call.in<int32_t>(operand)[i];
}

// One row of y from row x of the source: pixels [left, left + w), those outside [0, W) zero.
void crop_row(const Images& im, const char* x, int64_t left, bool flip, int64_t pixel, char* y) {
  const int64_t begin = std::clamp<int64_t>(-left, 0, im.w), end = std::clamp(im.W - left, begin, im.w);
  if (!flip) {
    std::memset(y, 0, static_cast<size_t>(begin * pixel));
    if (end > begin)
      std::memcpy(y + begin * pixel, x + (left + begin) * pixel, static_cast<size_t>((end - begin) * pixel));
    std::memset(y + end * pixel, 0, static_cast<size_t>((im.w - end) * pixel));
    return;
  }
  for (int64_t c = 0; c < im.w; ++c) {
    const int64_t k = im.w - 1 - c;
    if (k < begin || k >= end)
      std::memset(y + c * pixel, 0, static_cast<size_t>(pixel));
    else
      std::memcpy(y + c * pixel, x + (left + k) * pixel, static_cast<size_t>(pixel));
  }
}

Kernel make_crop_flip(const NodeView& node, const Env&) {
  const Images im = images_of(node);
  const int64_t pixel = im.C * plugin::dtype_bytes(node.in(op::crop_flip::x).dtype());
  const bool wide_top = node.in(op::crop_flip::top).dtype() == TENON_I64,
             wide_left = node.in(op::crop_flip::left).dtype() == TENON_I64;
  const bool flips = node.has(op::crop_flip::flip);
  Kernel k;
  k.threads = threads_for(node.out(0).elements());
  k.run = [=](const Call& call) {
    const Slice s = call.share(im.n * im.h);
    for (int64_t r = s.begin; r < s.end; ++r) {
      const int64_t n = r / im.h, top = integer(call, op::crop_flip::top, wide_top, n),
                    left = integer(call, op::crop_flip::left, wide_left, n);
      char* y = call.out<char>(0) + r * im.w * pixel;
      // Far offsets are clamped before they are added to, so that nothing overflows.
      const int64_t row = std::clamp<int64_t>(top, -im.h, im.H) + r % im.h;
      if (row < 0 || row >= im.H)
        std::memset(y, 0, static_cast<size_t>(im.w * pixel));
      else
        crop_row(im, call.in<char>(op::crop_flip::x) + (n * im.H + row) * im.W * pixel,
                 std::clamp<int64_t>(left, -im.w, im.W), flips && call.in<uint8_t>(op::crop_flip::flip)[n], pixel, y);
    }
  };
  return k;
}

// ---- affine_image ----

// Where a coordinate outside [0, n - 1] is read, as ImageProjectiveTransformV3 does.
double folded(double at, int64_t n, int32_t fill) {
  const double last = static_cast<double>(n - 1), len = static_cast<double>(n);
  if (fill == TENON_FILL_CONSTANT) return at;
  if (fill == TENON_FILL_REFLECT && (at < 0 || at > last)) {
    if (n <= 1) return 0;
    if (at < 0) {
      if (at < -2 * len) at += 2 * len * std::trunc(-at / (2 * len));
      at = at < -len ? at + 2 * len : -at - 1;
    } else {
      at -= 2 * len * std::trunc(at / (2 * len));
      if (at >= len) at = 2 * len - at - 1;
    }
  }
  if (fill == TENON_FILL_WRAP && (at < 0 || at > last)) {
    if (n <= 1) return 0;
    at = at < 0 ? at + len * (std::trunc(-at / last) + 1) : at - len * std::trunc(at / last);
  }
  return std::clamp(at, 0.0, last);
}

// x [H,W,C] at (r, c), 0 outside.
template <class T>
struct Picture {
  const T* x;
  const Images& im;
  const T* at(double r, double c) const {
    const bool inside = r >= 0 && c >= 0 && r < static_cast<double>(im.H) && c < static_cast<double>(im.W);
    return inside ? x + (static_cast<int64_t>(r) * im.W + static_cast<int64_t>(c)) * im.C : nullptr;
  }
};

template <class T>
void bilinear(const Picture<T>& p, double r, double c, T* y) {
  using A = Wide<T>;
  const double r0 = std::floor(r), c0 = std::floor(c);
  const A fr = static_cast<A>(r - r0), fc = static_cast<A>(c - c0);
  const T* taps[4] = {p.at(r0, c0), p.at(r0, c0 + 1), p.at(r0 + 1, c0), p.at(r0 + 1, c0 + 1)};
  const A weight[4] = {(1 - fr) * (1 - fc), (1 - fr) * fc, fr * (1 - fc), fr * fc};
  for (int64_t k = 0; k < p.im.C; ++k) {
    A sum = 0;
    for (int t = 0; t < 4; ++t) sum += taps[t] ? weight[t] * static_cast<A>(taps[t][k]) : A(0);
    y[k] = static_cast<T>(sum);
  }
}

template <class T>
void nearest(const Picture<T>& p, double r, double c, T* y) {
  const T* from = p.at(std::floor(r + 0.5), std::floor(c + 0.5));
  for (int64_t k = 0; k < p.im.C; ++k) y[k] = from ? from[k] : static_cast<T>(0.0f);
}

template <class T>
void affine_row(const Images& im, const T* x, const double* t, int64_t r, int32_t method, int32_t fill, T* y) {
  const Picture<T> p{x, im};
  for (int64_t c = 0; c < im.w; ++c, y += im.C) {
    const double cd = static_cast<double>(c), rd = static_cast<double>(r), k = t[6] * cd + t[7] * rd + 1;
    const double at_c = folded((t[0] * cd + t[1] * rd + t[2]) / k, im.W, fill);
    const double at_r = folded((t[3] * cd + t[4] * rd + t[5]) / k, im.H, fill);
    if (k == 0 || !std::isfinite(at_r) || !std::isfinite(at_c))
      std::fill_n(y, im.C, static_cast<T>(0.0f));
    else
      method == TENON_RESIZE_BILINEAR ? bilinear(p, at_r, at_c, y) : nearest(p, at_r, at_c, y);
  }
}

void read_theta(const Call& call, int32_t dtype, int64_t image, double* t) {
  with_float(dtype, [&](auto e) {
    for (int i = 0; i < 8; ++i)
      t[i] = static_cast<double>(call.in<decltype(e)>(op::affine_image::theta)[image * 8 + i]);
  });
}

Kernel make_affine(const NodeView& node, const Env&) {
  const Images im = images_of(node);
  const int32_t method = node.enumerator("method", TENON_RESIZE_BILINEAR), fill = node.enumerator("fill");
  const int32_t theta = node.in(op::affine_image::theta).dtype();
  Kernel k;
  k.threads = threads_for(node.out(0).elements() * 4);
  with_float(node.in(op::affine_image::x).dtype(), [&](auto e) {
    using T = decltype(e);
    k.run = [=](const Call& call) {
      const Slice s = call.share(im.n * im.h);
      for (int64_t r = s.begin; r < s.end; ++r) {
        const int64_t n = r / im.h;
        double t[8];
        read_theta(call, theta, n, t);
        affine_row(im, call.in<T>(op::affine_image::x) + n * im.H * im.W * im.C, t, r % im.h, method, fill,
                   call.out<T>(0) + r * im.w * im.C);
      }
    };
  });
  return k;
}

plugin::Verdict accept_affine(const NodeView& node) {
  if (!plugin::is_float(node.in(op::affine_image::x).dtype())) return plugin::decompose();
  return accept_float_image(node);
}

// ---- resize ----

// Along one axis, result i is x[low] + (x[high] - x[low]) part.
struct Tap {
  int64_t low, high;
  double part;
};

double place(int32_t coords, int64_t i, int64_t from, int64_t to) {
  const double in = static_cast<double>(from), out = static_cast<double>(to), k = static_cast<double>(i);
  if (coords == TENON_COORDS_HALF_PIXEL) return (k + 0.5) * in / out - 0.5;
  if (coords == TENON_COORDS_ALIGN_CORNERS && to > 1) return k * (in - 1) / (out - 1);
  return k * in / out;
}

Tap tap_of(int32_t method, int32_t coords, int64_t i, int64_t from, int64_t to) {
  const double at = place(coords, i, from, to), floor = std::floor(at);
  const auto inside = [&](double v) { return std::clamp<int64_t>(static_cast<int64_t>(v), 0, from - 1); };
  if (method == TENON_RESIZE_BILINEAR) return {inside(floor), inside(floor + 1), at - floor};
  // Half pixel's nearest is the pixel whose area holds the point, so halves go up.
  const int64_t k = inside(coords == TENON_COORDS_LEGACY ? floor : std::floor(at + 0.5));
  return {k, k, 0};
}

using AxisTaps = std::vector<Tap>;

template <class T>
void resize_row(const Images& im, const T* x, const Tap& row, const AxisTaps& columns, T* y) {
  using A = Wide<T>;
  const T* top = x + row.low * im.W * im.C;
  const T* bottom = x + row.high * im.W * im.C;
  const A fr = static_cast<A>(row.part);
  for (const Tap& t : columns) {
    const A fc = static_cast<A>(t.part);
    const int64_t l = t.low * im.C, h = t.high * im.C;
    for (int64_t k = 0; k < im.C; ++k) {
      const A a = static_cast<A>(top[l + k]) * (1 - fc) + static_cast<A>(top[h + k]) * fc;
      const A b = static_cast<A>(bottom[l + k]) * (1 - fc) + static_cast<A>(bottom[h + k]) * fc;
      y[k] = static_cast<T>(a * (1 - fr) + b * fr);
    }
    y += im.C;
  }
}

template <class T>
void pick_row(const Images& im, const T* x, const Tap& row, const AxisTaps& columns, T* y) {
  for (const Tap& t : columns) {
    std::copy_n(x + (row.low * im.W + t.low) * im.C, im.C, y);
    y += im.C;
  }
}

Kernel make_resize(const NodeView& node, const Env&) {
  const Images im = images_of(node);
  const int32_t method = node.enumerator("method", TENON_RESIZE_BILINEAR),
                coords = node.enumerator("coords", TENON_COORDS_HALF_PIXEL);
  auto rows = std::make_shared<AxisTaps>(), columns = std::make_shared<AxisTaps>();
  for (int64_t i = 0; i < im.h; ++i) rows->push_back(tap_of(method, coords, i, im.H, im.h));
  for (int64_t i = 0; i < im.w; ++i) columns->push_back(tap_of(method, coords, i, im.W, im.w));
  Kernel k;
  k.threads = threads_for(node.out(0).elements());
  with_float(node.in(op::resize::x).dtype(), [&](auto e) {
    using T = decltype(e);
    k.run = [=](const Call& call) {
      const Slice s = call.share(im.n * im.h);
      for (int64_t r = s.begin; r < s.end; ++r) {
        const T* x = call.in<T>(op::resize::x) + r / im.h * im.H * im.W * im.C;
        T* y = call.out<T>(0) + r * im.w * im.C;
        const Tap& row = (*rows)[static_cast<size_t>(r % im.h)];
        method == TENON_RESIZE_BILINEAR ? resize_row(im, x, row, *columns, y) : pick_row(im, x, row, *columns, y);
      }
    };
  });
  return k;
}

}  // namespace

void add_image(KernelTable& table) {
  table.add("crop_flip", accept_crop, make_crop_flip);
  table.add("affine_image", accept_affine, make_affine);
  table.add("resize", accept_float_image, make_resize);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
