// Pools: by the ops that Tenon has, or, where those lack what is asked for, by slices of the image, one for each place of the window.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/onnx_window.h"

namespace tenon::onnx {
namespace pooling_ops {
namespace {

Ints spatial_of(const Value& x) {
  const Shape shape = x.shape();
  if (shape.rank() < 3) fail("an input of ", shape.str(), ", expected 3 dimensions or more");
  return Ints(shape.begin() + 2, shape.end());
}

Window window_for(Call& c, const Value& x) { return window_of(c, spatial_of(x), c.ints("kernel_shape")); }

bool is_plain(const Window& window) {
  for (size_t a = 0; a < window.size.size(); ++a) {
    if (window.dilation[a] != 1 || std::max(window.low[a], window.high[a] + window.extra[a]) >= window.size[a])
      return false;
  }
  return window.size.size() <= 3;
}

PoolOptions options_of(const Window& window) {
  PoolOptions out;
  out.window = window.size;
  out.strides = window.strides;
  out.low = window.low;
  for (size_t a = 0; a < window.size.size(); ++a)
    out.high.push_back((window.out[a] - 1) * window.strides[a] + window.size[a] - window.low[a]);
  return out;
}

// visit(slice, place) for each place of the window; x is [N,S..,C], and has `fill` around it.
template <class Visit>
void each_place(Tensor x, const Window& window, double fill, Visit visit) {
  const size_t n = window.size.size();
  Ints low(n + 2, 0), high(n + 2, 0);
  int64_t places = 1;
  for (size_t a = 0; a < n; ++a) {
    low[a + 1] = window.low[a];
    high[a + 1] = window.high[a] + window.extra[a];
    places *= window.size[a];
  }
  if (places > 4096) fail("a window of ", places, " places, expected up to 4096");
  const Tensor wide = pad(x, low, high, {}, fill);
  for (int64_t p = 0; p < places; ++p) {
    Ints from(n + 2, 0), to = wide.shape().vec(), stride(n + 2, 1);
    int64_t rest = p;
    for (size_t a = n; a-- > 0;) {
      from[a + 1] = rest % window.size[a] * window.dilation[a];
      rest /= window.size[a];
      stride[a + 1] = window.strides[a];
      to[a + 1] = from[a + 1] + (window.out[a] - 1) * window.strides[a] + 1;
    }
    visit(slice(wide, from, to, stride));
  }
}

// The window folded an axis at a time: max and sum may be.
Tensor folded(Tensor x, Window window, double fill, Tensor (*fold)(Tensor, Tensor)) {
  const size_t n = window.size.size();
  for (size_t a = 0; a < n; ++a) {
    Window one = window;
    for (size_t b = 0; b < n; ++b) {
      if (b == a) continue;
      one.size[b] = one.strides[b] = one.dilation[b] = 1;
      one.low[b] = one.high[b] = one.extra[b] = 0;
      one.out[b] = x.dim(static_cast<int>(b) + 1);
    }
    Tensor y;
    each_place(x, one, fill, [&](Tensor t) { y = y ? fold(y, t) : t; });
    x = y;
  }
  return x;
}

// Where each element lies in the file's order, its batch and channel counted too.
Tensor flat_place(Call& c, const Value& x, bool columns_first) {
  const Shape last = x.last().shape(), file = x.shape();
  const int rank = file.rank();
  Ints strides(static_cast<size_t>(rank), 1);
  if (columns_first) {
    int64_t stride = 1;
    for (int a = 2; a < rank; ++a) strides[static_cast<size_t>(a)] = stride, stride *= file[a];
    strides[1] = stride;
    strides[0] = stride * file[1];
  } else {
    for (int a = rank - 2; a >= 0; --a)
      strides[static_cast<size_t>(a)] = strides[static_cast<size_t>(a) + 1] * file[a + 1];
  }
  Tensor place;
  for (int a = 0; a < rank; ++a) {
    const Tensor at = iota(c.graph(), DType::kI32, last, axis_in_last(a, rank)) *
                      static_cast<double>(strides[static_cast<size_t>(a)]);
    place = place ? add(place, at) : at;
  }
  return place;
}

void max_pool_rule(Call& c) {
  const Value x = c.value(0);
  const Window window = window_for(c, x);
  const bool real = is_float(x.last().dtype()), simple = is_plain(window) && real;
  if (simple && !c.wants(1)) {
    PoolOptions options = options_of(window);
    const Ints size = spatial_of(x);
    for (size_t a = 0; a < size.size(); ++a) options.high[a] = std::max<int64_t>(0, options.high[a] - size[a]);
    return c.give_last(max_pool(x.last(), options));
  }
  const double lowest = real ? -INFINITY : INT32_MIN;
  if (!c.wants(1)) return c.give_last(folded(x.last(), window, lowest, maximum));
  Tensor y, index;
  Tensors at;
  each_place(flat_place(c, x, c.integer("storage_order", 0) != 0), window, 0, [&](Tensor t) { at.push_back(t); });
  size_t i = 0;
  each_place(x.last(), window, lowest, [&](Tensor t) {
    index = y ? select(compare(t, y, CompareKind::kGt), at[i], index) : at[0];
    y = y ? maximum(y, t) : t;
    ++i;
  });
  c.give_last(y);
  c.give_last(cast(index, DType::kI64), Element::kI64);
}

// How many elements each window has, as [1, S.., 1].
Tensor counts(Call& c, const Window& window, const Ints& size, bool with_pads, DType dtype) {
  const size_t n = size.size();
  std::vector<std::vector<double>> along(n);
  Ints dims(n + 2, 1);
  double numbers = 1;
  for (size_t a = 0; a < n; ++a)
    numbers *= static_cast<double>(window.out[a]),
        expect_table(static_cast<double>(window.out[a]) * static_cast<double>(window.size[a]));
  expect_table(numbers);
  for (size_t a = 0; a < n; ++a) {
    const int64_t from = with_pads ? 0 : window.low[a], to = window.low[a] + size[a] + (with_pads ? window.high[a] : 0);
    for (int64_t o = 0; o < window.out[a]; ++o) {
      int64_t count = 0;
      for (int64_t k = 0; k < window.size[a]; ++k) {
        const int64_t at = o * window.strides[a] + k * window.dilation[a];
        count += at >= from && at < to;
      }
      along[a].push_back(static_cast<double>(count));
    }
    dims[a + 1] = window.out[a];
  }
  std::vector<float> all = {1};
  for (const std::vector<double>& axis : along) {
    std::vector<float> next;
    for (const float before : all)
      for (const double count : axis) next.push_back(before * static_cast<float>(count));
    all = std::move(next);
  }
  return cast(constant(c.graph(), {DType::kF32, Shape(dims)},
                       {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(float)}),
              dtype);
}

void average_pool(Call& c) {
  const Value x = c.value(0);
  const Window window = window_for(c, x);
  const bool with_pads = c.flag("count_include_pad");
  const Ints size = spatial_of(x);
  if (is_plain(window) && *std::max_element(window.extra.begin(), window.extra.end()) == 0) {
    PoolOptions options = options_of(window);
    for (size_t a = 0; a < size.size(); ++a) options.high[a] = std::max<int64_t>(0, options.high[a] - size[a]);
    // With pads that no window reaches the op counts those that one does, as it should be.
    options.count_pad = with_pads;
    return c.give_last(avg_pool(x.last(), options));
  }
  const Tensor sum = folded(x.last(), window, 0, add);
  const Tensor count = counts(c, window, size, with_pads, sum.dtype());
  c.give_last(sum / maximum(count, scalar_like(count, 1)));
}

void lp_pool(Call& c) {
  const Value x = c.value(0);
  const Window window = window_for(c, x);
  const double p = static_cast<double>(c.integer("p", 2));
  const Tensor size = abs(x.last());
  const Tensor powers = p == 1 ? size : p == 2 ? square(size) : pow(size, scalar_like(size, p));
  const Tensor sum = folded(powers, window, 0, add);
  c.give_last(p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, scalar_like(sum, 1 / p)));
}

Ints places_in_last(const Value& x) {
  if (x.rank() < 3) fail("an input of ", x.shape().str(), ", expected 3 dimensions or more");
  Ints axes = iota_list(x.rank() - 1);
  axes.erase(axes.begin());
  return axes;
}

void global_average(Call& c) {
  const Value x = c.value(0);
  c.give_last(reduce_mean(x.last(), places_in_last(x), true));
}

void global_max(Call& c) {
  const Value x = c.value(0);
  c.give_last(reduce_max(x.last(), places_in_last(x), true));
}

void global_lp(Call& c) {
  const Value x = c.value(0);
  const double p = static_cast<double>(c.integer("p", 2));
  const Tensor size = abs(x.last());
  const Tensor sum = reduce_sum(pow(size, scalar_like(size, p)), places_in_last(x), true);
  c.give_last(pow(sum, scalar_like(sum, 1 / p)));
}

// The largest elements back where they were, 0 elsewhere.
void max_unpool(Call& c) {
  const Tensor x = c.in(0), at = c.in(1);
  const Window window = [&] {
    Window w;
    w.size = c.ints("kernel_shape");
    w.strides = c.list("strides", w.size.size(), 1, 1, kMostSize);
    return w;
  }();
  const Ints pads = c.list("pads", 2 * window.size.size(), 0, 0, kMostSize);
  const size_t n = window.size.size();
  if (static_cast<int>(n) + 2 != x.rank() || window.strides.size() != n || pads.size() != 2 * n)
    fail("a window of ", n, " axes of ", x.type().str());
  for (size_t a = 0; a < n; ++a)
    if (x.dim(static_cast<int>(a) + 2) > kMostSize || window.size[a] < 1 || window.size[a] > kMostSize)
      fail("a window [", join(window.size, ","), "]");
  // Places are those of the image that was pooled; with output_shape it is put into another.
  Ints dims = {x.dim(0), x.dim(1)};
  for (size_t a = 0; a < n; ++a)
    dims.push_back((x.dim(static_cast<int>(a) + 2) - 1) * window.strides[a] - pads[a] - pads[a + n] + window.size[a]);
  const Shape pooled(dims);
  const Shape whole = c.has(2) ? Shape(c.known_ints(2)) : pooled;
  const Tensor zeros = full(c.graph(), x.dtype(), Shape({pooled.elements()}), 0);
  Tensor y = reshape(scatter(zeros, reshape(at, {at.elements()}), reshape(x, {x.elements()}), 0, 0, ScatterKind::kSet),
                     pooled);
  if (!(whole == pooled)) {
    Ints high;
    for (int a = 0; a < whole.rank(); ++a) high.push_back(whole[a] - pooled[a]);
    y = pad(y, Ints(high.size(), 0), high, {}, 0);
  }
  c.give(y);
}

constexpr Rule kRules[] = {
    {"AveragePool", average_pool}, {"GlobalAveragePool", global_average},
    {"GlobalLpPool", global_lp},   {"GlobalMaxPool", global_max},
    {"LpPool", lp_pool},           {"MaxPool", max_pool_rule},
    {"MaxUnpool", max_unpool},
};

}  // namespace
}  // namespace pooling_ops

Rules pooling_rules() { return pooling_ops::kRules; }

}  // namespace tenon::onnx
