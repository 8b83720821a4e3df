// Samples of the primitives that move elements, or make them of nothing.
#include <algorithm>

#include "conformance/sample/sampler.h"

namespace tenon::conformance {
namespace {

using reference::Tensor;
using Dims = std::vector<int64_t>;

Tensor moved(Sampler& s, int32_t dtype, const Dims& dims) {
  return s.tensor(dtype, dims, plugin::is_float(dtype) ? Values::kBits : Values::kMagnitude);
}

Drawn draw_iota(Sampler& s, int32_t dtype) {
  Drawing d("iota");
  Dims dims = s.dims();
  if (dims.empty()) dims = {1};
  const int64_t axis = s.below(static_cast<int64_t>(dims.size()));
  d.node({}, {{dtype, dims}}).attr_list("shape", dims).attr_i64("axis", axis).attr_dtype("dtype", dtype);
  return d.finish(text_of(dtype, dims) + " axis " + std::to_string(axis));
}

Drawn draw_random(Sampler& s, int32_t dtype) {
  Drawing d("random");
  const Dims dims = s.dims(4000);
  const auto number = [&] {
    Tensor t = reference::zeros(TENON_I64, {});
    t.i[0] = static_cast<int64_t>(s.bits() >> s.below(64));
    return t;
  };
  const uint32_t seed = d.input(number(), true), step = d.input(number());
  const int64_t stream = static_cast<int64_t>(s.bits() >> 32);
  const bool per_replica = s.chance(2);
  d.node({seed, step}, {{dtype, dims}}).attr_i64("stream", stream).attr_list("shape", dims);
  d.builder.attr_bool("per_replica", per_replica);
  return d.finish(text_of(dims) + (per_replica ? " per replica" : ""));
}

// The same elements cut otherwise: the prime factors, dealt anew.
Drawn draw_reshape(Sampler& s, int32_t dtype) {
  Drawing d("reshape");
  const Dims dims = s.dims();
  Dims shape(static_cast<size_t>(s.below(9)), 1);
  int64_t n = 1;
  for (int64_t x : dims) n *= x;
  if (shape.empty() && n > 1) shape = {1};
  for (int64_t p = 2; n > 1 && p <= n; ++p)
    for (; n % p == 0; n /= p) shape[static_cast<size_t>(s.below(static_cast<int64_t>(shape.size())))] *= p;
  d.node({d.input(moved(s, dtype, dims))}, {{dtype, shape}}).attr_list("shape", shape);
  return d.finish("to " + text_of(shape));
}

Drawn draw_transpose(Sampler& s, int32_t dtype) {
  Drawing d("transpose");
  const Dims dims = s.dims(), perm = s.permutation(dims.size());
  Dims out;
  for (int64_t p : perm) out.push_back(dims[static_cast<size_t>(p)]);
  d.node({d.input(moved(s, dtype, dims))}, {{dtype, out}}).attr_list("perm", perm);
  return d.finish("perm " + text_of(perm));
}

Drawn draw_broadcast(Sampler& s, int32_t dtype) {
  Drawing d("broadcast");
  const Dims shape = s.dims();
  const Dims axes = s.some_of(shape.size());
  Dims dims;
  for (int64_t axis : axes) dims.push_back(s.chance(3) ? 1 : shape[static_cast<size_t>(axis)]);
  d.node({d.input(moved(s, dtype, dims))}, {{dtype, shape}}).attr_list("shape", shape).attr_list("dims", axes);
  return d.finish("to " + text_of(shape) + " dims " + text_of(axes));
}

Drawn draw_slice(Sampler& s, int32_t dtype) {
  Drawing d("slice");
  const Dims dims = s.dims();
  Dims start, limit, stride, out;
  for (int64_t n : dims) {
    start.push_back(s.chance(3) ? 0 : s.below(n));
    limit.push_back(s.chance(3) ? n : s.between(start.back() + 1, n));
    stride.push_back(s.chance(2) ? 1 : s.size(n + 1));
    out.push_back((limit.back() - start.back() + stride.back() - 1) / stride.back());
  }
  d.node({d.input(moved(s, dtype, dims))}, {{dtype, out}});
  d.builder.attr_list("start", start).attr_list("limit", limit).attr_list("stride", stride);
  return d.finish(text_of(start) + " to " + text_of(limit) + " by " + text_of(stride));
}

Drawn draw_pad(Sampler& s, int32_t dtype) {
  Drawing d("pad");
  const Dims dims = s.dims(200);
  Dims low, high, interior, out;
  int64_t room = 4000;
  for (int64_t n : dims) room /= n;
  for (int64_t n : dims) {
    const bool grows = room >= 8;
    low.push_back(grows && s.chance(2) ? s.below(4) : 0);
    high.push_back(grows && s.chance(2) ? s.below(4) : 0);
    interior.push_back(grows && s.chance(3) ? s.below(3) : 0);
    out.push_back(low.back() + n + (n - 1) * interior.back() + high.back());
    room = room * n / out.back();
  }
  const double value = plugin::is_float(dtype) ? s.one_of<double>({0, -0.0, 1, -2.5, 1e300}) : s.one_of<double>({0, 1});
  d.node({d.input(moved(s, dtype, dims))}, {{dtype, out}});
  d.builder.attr_list("low", low).attr_list("high", high).attr_list("interior", interior).attr_f64("value", value);
  return d.finish("low " + text_of(low) + " high " + text_of(high) + " interior " + text_of(interior));
}

Drawn draw_concat(Sampler& s, int32_t dtype) {
  Drawing d("concat");
  Dims dims = s.dims(500);
  if (dims.empty()) dims = {1};
  const size_t axis = static_cast<size_t>(s.below(static_cast<int64_t>(dims.size())));
  std::vector<uint32_t> ids;
  std::vector<int64_t> sizes;
  for (int64_t k = s.between(1, 5); k > 0; --k) {
    if (!ids.empty() && s.chance(5)) {
      ids.push_back(ids.front()), sizes.push_back(sizes.front());
      continue;
    }
    sizes.push_back(s.chance(2) ? dims[axis] : s.size(std::max<int64_t>(dims[axis], 9)));
    Dims part = dims;
    part[axis] = sizes.back();
    ids.push_back(d.input(moved(s, dtype, part)));
  }
  Dims out = dims;
  out[axis] = 0;
  for (int64_t n : sizes) out[axis] += n;
  d.node(ids, {{dtype, out}}).attr_i64("axis", static_cast<int64_t>(axis));
  return d.finish("axis " + std::to_string(axis));
}

Drawn draw_reverse(Sampler& s, int32_t dtype) {
  Drawing d("reverse");
  const Dims dims = s.dims(), axes = s.some_of(dims.size());
  d.node({d.input(moved(s, dtype, dims))}, {{dtype, dims}}).attr_list("axes", axes);
  return d.finish("axes " + text_of(axes));
}

// x, the places in it, and the shape of what lies there.
struct Places {
  Dims x, index, gathered;
  int64_t axis = 0, batch = 0;
  Tensor indices;
};

Places places(Sampler& s) {
  Places p;
  p.x = s.dims(400);
  if (p.x.empty()) p.x = {5};
  p.axis = s.below(static_cast<int64_t>(p.x.size()));
  p.batch = s.below(p.axis + 1);
  p.index.assign(p.x.begin(), p.x.begin() + p.batch);
  const size_t more = static_cast<size_t>(s.below(std::min<int64_t>(3, 9 - static_cast<int64_t>(p.x.size()))));
  for (int64_t n : s.dims_of_rank(more, 12)) p.index.push_back(n);
  p.gathered.assign(p.x.begin(), p.x.begin() + p.axis);
  p.gathered.insert(p.gathered.end(), p.index.begin() + p.batch, p.index.end());
  p.gathered.insert(p.gathered.end(), p.x.begin() + p.axis + 1, p.x.end());
  p.indices = s.tensor(s.chance(2) ? TENON_I32 : TENON_I64, p.index, Values::kPlain);
  const int64_t n = p.x[static_cast<size_t>(p.axis)];
  const bool extreme = s.chance(4);
  for (int64_t& i : p.indices.i) {
    i = s.between(-1, n);
    if (extreme && s.chance(3)) i = s.tensor(p.indices.dtype, {}, Values::kMagnitude).i[0];
  }
  return p;
}

std::string words(const Places& p) { return "axis " + std::to_string(p.axis) + " batch " + std::to_string(p.batch); }

Drawn draw_gather(Sampler& s, int32_t dtype) {
  Drawing d("gather");
  const Places p = places(s);
  const uint32_t x = d.input(moved(s, dtype, p.x)), i = d.input(p.indices);
  d.node({x, i}, {{dtype, p.gathered}}).attr_i64("axis", p.axis).attr_i64("batch", p.batch);
  return d.finish(words(p));
}

Drawn draw_scatter(Sampler& s, int32_t dtype) {
  Drawing d("scatter");
  const Places p = places(s);
  const bool adds = dtype != TENON_U8 && dtype != TENON_BOOL && s.chance(2);
  const auto elements = [&](const Dims& dims) {
    return adds ? s.tensor(dtype, dims, s.one_of<Values>({Values::kPlain, Values::kEdges})) : moved(s, dtype, dims);
  };
  const uint32_t x = d.input(elements(p.x)), i = d.input(p.indices), u = d.input(elements(p.gathered));
  d.node({x, i, u}, {{dtype, p.x}}).attr_i64("axis", p.axis).attr_i64("batch", p.batch);
  d.builder.attr_enum("kind", adds ? TENON_SCATTER_ADD : TENON_SCATTER_SET);
  return d.finish(words(p) + (adds ? " add" : " set"));
}

}  // namespace

std::vector<SampledOp> movement_samples() {
  return {{"iota", dtypes::kNumbers, draw_iota},
          {"random", {TENON_F32}, draw_random},
          {"reshape", dtypes::kAll, draw_reshape},
          {"transpose", dtypes::kAll, draw_transpose},
          {"broadcast", dtypes::kAll, draw_broadcast},
          {"slice", dtypes::kAll, draw_slice},
          {"pad", dtypes::kAll, draw_pad},
          {"concat", dtypes::kAll, draw_concat},
          {"reverse", dtypes::kAll, draw_reverse},
          {"gather", dtypes::kAll, draw_gather},
          {"scatter", dtypes::kAll, draw_scatter}};
}

}  // namespace tenon::conformance
