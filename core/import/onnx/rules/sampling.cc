// Images read at places that are numbers of a tensor.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/onnx_window.h"

namespace tenon::onnx {
namespace sampling_ops {
namespace {

struct Sampling {
  std::string mode, padding;
  bool corners = false;
};

// -1 to 1 over the image.
Tensor unnormalized(const Sampling& s, Tensor x, int64_t size) {
  const double n = static_cast<double>(size);
  return s.corners ? (x + 1.0) * ((n - 1) / 2) : ((x + 1.0) * n - 1.0) * 0.5;
}

Tensor floor_mod(Tensor x, double by) { return x - floor(x / by) * by; }

// Mirrored at the edges, or at the corners' centres.
Tensor reflected(const Sampling& s, Tensor x, int64_t size) {
  const double low = s.corners ? 0 : -0.5, span = s.corners ? static_cast<double>(size - 1) : static_cast<double>(size);
  if (span == 0) return x * 0.0;
  const Tensor at = floor_mod(x - low, 2 * span);
  return minimum(at, neg(at) + 2 * span) + low;
}

// Whole numbers, as floats, brought into the image; `kept` is 0 where they count for nothing.
struct Index {
  Tensor at, kept;
};
Index index_of(const Sampling& s, Tensor at, int64_t size) {
  const double last = static_cast<double>(size - 1);
  Index out;
  if (s.padding == "reflection") at = reflected(s, at, size);
  const Tensor near = clamp(at, 0, last);
  if (s.padding == "zeros") out.kept = cast(compare(near, at, CompareKind::kEq), at.dtype());
  out.at = s.padding == "reflection" ? clamp(round(near), 0, last) : near;
  return out;
}

// Taps along one axis: places and weights.
struct Tap {
  Index index;
  Tensor weight;
};

std::vector<Tap> taps(const Sampling& s, Tensor x, int64_t size) {
  std::vector<Tap> out;
  if (s.mode == "nearest")
    return {{index_of(s, round(s.padding == "reflection" ? reflected(s, x, size) : x), size), {}}};
  if (s.padding == "border" && s.mode != "cubic") x = clamp(x, 0, static_cast<double>(size - 1));
  if (s.padding == "reflection" && s.mode != "cubic")
    x = clamp(reflected(s, x, size), 0, static_cast<double>(size - 1));
  const Tensor low = floor(x), rest = x - low;
  if (s.mode == "cubic") {
    const double a = -0.75;
    const auto near = [&](Tensor t) { return ((t * (a + 2) - (a + 3)) * t) * t + 1.0; };
    const auto far = [&](Tensor t) { return ((t * a - 5 * a) * t + 8 * a) * t - 4 * a; };
    const Tensor weights[] = {far(rest + 1.0), near(rest), near(1.0 - rest), far(2.0 - rest)};
    for (int k = 0; k < 4; ++k) out.push_back({index_of(s, low + static_cast<double>(k - 1), size), weights[k]});
    return out;
  }
  out.push_back({index_of(s, low, size), 1.0 - rest});
  out.push_back({index_of(s, low + 1.0, size), rest});
  return out;
}

// x[N,S..,C] at places [N,P] along each axis: [N,P,C]. The taps' products are summed, or the largest counts.
Tensor sampled(const Sampling& s, Tensor x, const Tensors& places, bool largest = false) {
  const int n = x.rank() - 2;
  std::vector<std::vector<Tap>> along;
  int64_t count = 1;
  for (int a = 0; a < n; ++a) {
    along.push_back(taps(s, places[static_cast<size_t>(a)], x.dim(a + 1)));
    count *= static_cast<int64_t>(along.back().size());
  }
  const Tensor flat = reshape(x, {x.dim(0), x.elements() / (x.dim(0) * x.dim(-1)), x.dim(-1)});
  Tensor sum;
  for (int64_t i = 0; i < count; ++i) {
    Tensor at, weight;
    int64_t rest = i, stride = 1;
    for (int a = n - 1; a >= 0; --a) {
      const auto& options = along[static_cast<size_t>(a)];
      const Tap& tap = options[static_cast<size_t>(rest) % options.size()];
      rest /= static_cast<int64_t>(options.size());
      const Tensor by = cast(tap.index.at, DType::kI32) * static_cast<double>(stride);
      at = at ? add(at, by) : by;
      stride *= x.dim(a + 1);
      for (const Tensor factor : {tap.weight, tap.index.kept})
        if (factor) weight = weight ? mul(weight, factor) : factor;
    }
    Tensor one = gather(flat, at, 1, 1);
    if (weight) one = mul(one, broadcast(cast(weight, one.dtype()), one.shape(), {0, 1}));
    sum = !sum ? one : largest ? maximum(sum, one) : add(sum, one);
  }
  return sum;
}

void grid_sample(Call& c) {
  const Value x = c.value(0);
  const Tensor grid = c.in(1), image = x.last();
  const int n = image.rank() - 2;
  if (n < 1 || grid.rank() != n + 2 || grid.dim(-1) != n)
    fail("places ", grid.type().str(), " in ", image.type().str());
  Sampling s{c.text("mode", "linear"), c.text("padding_mode", "zeros"), c.flag("align_corners")};
  if (s.mode == "bilinear") s.mode = "linear";
  if (s.mode == "bicubic") s.mode = "cubic";
  const int64_t count = grid.elements() / (grid.dim(0) * n);
  Tensors places;
  for (int a = 0; a < n; ++a)  // the grid has the last axis first
    places.push_back(
        unnormalized(s, reshape(part(grid, n + 1, n - 1 - a, n - a), {grid.dim(0), count}), image.dim(a + 1)));
  std::vector<int64_t> dims(grid.shape().begin(), grid.shape().end() - 1);
  dims.push_back(image.dim(-1));
  c.give_last(reshape(sampled(s, image, places), Shape(dims)));
}

// theta [N,2,3] over a grid of that size, or [N,3,4].
void affine_grid(Call& c) {
  const Tensor theta = c.in(0);
  const Ints size = c.known_ints(1);
  const bool corners = c.flag("align_corners");
  if (size.size() < 3 || size.size() > 5) fail("a grid of size [", join(size, ","), "]");
  const auto n = static_cast<int>(size.size()) - 2;
  if (theta.rank() != 3 || theta.dim(1) != n || theta.dim(2) != n + 1)
    fail("theta ", theta.type().str(), " of ", n, " axes");
  Ints dims(size.begin() + 2, size.end());
  dims.push_back(n + 1);
  std::vector<float> base;
  int64_t count = 1;
  double numbers = n + 1;
  for (int a = 0; a < n; ++a) {
    if (dims[static_cast<size_t>(a)] < 1) fail("a grid of ", dims[static_cast<size_t>(a)], " rows");
    numbers *= static_cast<double>(dims[static_cast<size_t>(a)]);
  }
  expect_table(numbers);
  for (int a = 0; a < n; ++a) count *= dims[static_cast<size_t>(a)];
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    std::vector<float> place;
    for (int a = n - 1; a >= 0; --a) {  // x first
      const int64_t length = dims[static_cast<size_t>(a)], at = rest % length;
      rest /= length;
      const double d = static_cast<double>(length);
      place.push_back(static_cast<float>(corners ? length == 1 ? 0 : -1 + 2.0 * static_cast<double>(at) / (d - 1)
                                                 : (2.0 * static_cast<double>(at) + 1) / d - 1));
    }
    place.push_back(1);
    base.insert(base.end(), place.begin(), place.end());
  }
  const Tensor grid = constant(c.graph(), {DType::kF32, Shape({count, n + 1})},
                               {reinterpret_cast<const char*>(base.data()), base.size() * sizeof(float)});
  const Tensor rows = broadcast(cast(grid, theta.dtype()), Shape({theta.dim(0), count, n + 1}), {1, 2});
  dims.insert(dims.begin(), theta.dim(0));
  dims.back() = n;
  c.give(reshape(dot(rows, theta, {.tb = true, .precision = MathPrecision::kHighest}), Shape(dims)));
}

// Regions of images, each as bins that are means, or maxima, of samples.
void roi_align(Call& c) {
  const Tensor image = c.last(0), rois = c.in(1), which = c.in(2);
  const int64_t h = c.integer("output_height", 1), w = c.integer("output_width", 1),
                ratio = c.integer("sampling_ratio", 0);
  const bool half = c.opset >= 16 && c.text("coordinate_transformation_mode", "half_pixel") == "half_pixel",
             mean = c.text("mode", "avg") == "avg";
  const double scale = c.real("spatial_scale", 1);
  const int64_t count = rois.dim(0);
  if (h < 1 || w < 1 || ratio > 4096 || h > 1 << 20 || w > 1 << 20)
    fail("regions of ", h, " by ", w, " bins and ", ratio, " samples");
  if (ratio < 1) c.refuse("a sampling_ratio that follows from the regions");
  const auto corner = [&](int64_t i) { return reshape(part(rois, 1, i, i + 1), {count}) * scale - (half ? 0.5 : 0.0); };
  const Tensor x1 = corner(0), y1 = corner(1);
  Tensor width = corner(2) - x1, height = corner(3) - y1;
  if (!half) width = maximum(width, scalar_like(width, 1)), height = maximum(height, scalar_like(height, 1));
  const auto along = [&](Tensor from, Tensor size, int64_t bins) {
    const Shape shape({count, bins * ratio});
    const Tensor at = (iota(c.graph(), DType::kF32, shape, 1) + 0.5) * (1.0 / static_cast<double>(bins * ratio));
    return broadcast(from, shape, {0}) + cast(at, from.dtype()) * broadcast(size, shape, {0});
  };
  const Tensor ys = along(y1, height, h), xs = along(x1, width, w);
  const int64_t rows = h * ratio, columns = w * ratio;
  const Shape grid({count, rows, columns});
  const auto clip = [&](Tensor at, int64_t size, Tensor* kept) {
    const double n = static_cast<double>(size);
    *kept = cast(
        minimum(compare(at, scalar_like(at, -1), CompareKind::kGe), compare(at, scalar_like(at, n), CompareKind::kLe)),
        at.dtype());
    return clamp(at, 0, n - 1);
  };
  Tensor in_y, in_x;
  const Tensor y = clip(reshape(broadcast(ys, grid, {0, 1}), {count, rows * columns}), image.dim(1), &in_y);
  const Tensor x = clip(reshape(broadcast(xs, grid, {0, 2}), {count, rows * columns}), image.dim(2), &in_x);
  const Tensor images = gather(image, which, 0);
  Sampling s{"linear", "border", true};
  const Tensor kept = mul(in_y, in_x);
  Tensor z = sampled(s, images, {y, x}, !mean);
  z = mul(z, broadcast(kept, z.shape(), {0, 1}));
  z = reshape(z, {count, h, ratio, w, ratio, image.dim(3)});
  z = mean ? reduce_mean(z, {2, 4}) : reduce_max(z, {2, 4});
  c.give_last(z);
}

// A convolution whose window reads each of its places where an offset says, weighted.
void deform_conv(Call& c) {
  const Value image = c.value(0), w = c.value(1);
  const Tensor x = image.last(), offset = c.in(2), kernel = w.file();
  if (x.rank() != 4) c.refuse("images of ", x.rank() - 2, " axes, expected 2");
  const Window window = window_of(c, {x.dim(1), x.dim(2)}, {kernel.dim(2), kernel.dim(3)});
  const int64_t n = x.dim(0), groups = c.between("group", 1, 1, kMostSize),
                shared = c.between("offset_group", 1, 1, kMostSize), oh = window.out[0], ow = window.out[1];
  const int64_t places = window.size[0] * window.size[1], channels = x.dim(3), outputs = kernel.dim(0), count = oh * ow;
  if (groups < 1 || shared < 1 || channels % shared != 0 ||
      offset.elements() != product(product(n, shared), product(2 * places, count)))
    fail("offsets ", offset.type().str());
  const Tensor by = reshape(offset, {n, shared, places, 2, count});
  const Tensor mask = c.has(4) ? reshape(c.in(4), {n, shared, places, count}) : Tensor();
  const Sampling s{"linear", "zeros", true};
  const int64_t each = channels / shared;
  Tensors columns;  // [N, P, C] of each place of the window
  for (int64_t p = 0; p < places; ++p) {
    const int64_t along[] = {p / window.size[1], p % window.size[1]};
    Tensors parts;
    for (int64_t g = 0; g < shared; ++g) {
      Tensors at;
      for (int a = 0; a < 2; ++a) {
        const Shape grid({oh, ow});
        const Tensor base =
            reshape(iota(c.graph(), DType::kI32, grid, a) * static_cast<double>(window.strides[static_cast<size_t>(a)]),
                    {count});
        const double shift = static_cast<double>(along[a] * window.dilation[static_cast<size_t>(a)] -
                                                 window.low[static_cast<size_t>(a)]);
        const Tensor moved = reshape(slice(by, {0, g, p, a, 0}, {n, g + 1, p + 1, a + 1, count}, {}), {n, count});
        at.push_back(moved + (cast(base, moved.dtype()) + shift));
      }
      Tensor one = sampled(s, part(x, 3, g * each, (g + 1) * each), at);
      if (mask)
        one = mul(one, broadcast(reshape(slice(mask, {0, g, p, 0}, {n, g + 1, p + 1, count}, {}), {n, count}),
                                 one.shape(), {0, 1}));
      parts.push_back(one);
    }
    columns.push_back(reshape(parts.size() == 1 ? parts[0] : concat(parts, 2), {n, count, 1, channels}));
  }
  // As a convolution whose window is the list of places.
  const Tensor all = columns.size() == 1 ? columns[0] : concat(columns, 2);
  const Tensor flat = transpose(reshape(kernel, {outputs, kernel.dim(1), places}), {2, 1, 0});
  Tensor y =
      conv(reshape(all, {n * count, places, channels}), flat, {.groups = groups, .precision = c.walk.precision()});
  y = reshape(y, {n, oh, ow, outputs});
  if (c.has(3)) y = y + c.in(3);
  c.give_last(y);
}

constexpr Rule kRules[] = {
    {"AffineGrid", affine_grid}, {"DeformConv", deform_conv}, {"GridSample", grid_sample}, {"RoiAlign", roi_align}};

}  // namespace
}  // namespace sampling_ops

Rules sampling_rules() { return sampling_ops::kRules; }

}  // namespace tenon::onnx
