// Samples of the primitives of one element in, one element out.
#include "conformance/sample/sampler.h"
#include "tenon/op/signature.h"
#include "tenon/op/table.h"

namespace tenon::conformance {
namespace {

using Dims = std::vector<int64_t>;

// The operands of one shape, now and then one of rank 0 beside it, or the same one twice.
struct Operands {
  std::vector<uint32_t> ids;
  Dims dims;
};

Operands operands(Sampler& s, Drawing& d, int32_t dtype, size_t n) {
  const Values values = s.any_values();
  Operands out{{}, s.dims()};
  const int64_t form = s.below(8);
  for (size_t k = 0; k < n; ++k) {
    if (k > 0 && form == 0) {
      out.ids.push_back(out.ids.back());
      continue;
    }
    const bool rank_0 = n > 1 && ((form == 1 && k == 0) || (form == 2 && k == n - 1));
    out.ids.push_back(d.input(s.tensor(dtype, rank_0 ? Dims{} : out.dims, values), rank_0 && s.chance(3)));
  }
  return out;
}

SampledOp map(std::string_view op, size_t n, const std::vector<int32_t>& of) {
  return {op, of, [=](Sampler& s, int32_t dtype) {
            Drawing d(op);
            const Operands x = operands(s, d, dtype, n);
            d.node(x.ids, {{dtype, x.dims}});
            return d.finish();
          }};
}

Drawn draw_compare(Sampler& s, int32_t dtype) {
  Drawing d("compare");
  const Operands x = operands(s, d, dtype, 2);
  const int64_t kind = s.below(6);
  d.node(x.ids, {{TENON_BOOL, x.dims}}).attr_enum("kind", kind);
  return d.finish("kind " + std::to_string(kind));
}

Drawn draw_select(Sampler& s, int32_t dtype) {
  Drawing d("select");
  const Dims dims = s.dims();
  const uint32_t condition = d.input(s.tensor(TENON_BOOL, s.chance(4) ? Dims{} : dims, Values::kPlain));
  const auto operand = [&] { return d.input(s.tensor(dtype, s.chance(4) ? Dims{} : dims, Values::kBits)); };
  const uint32_t a = d.input(s.tensor(dtype, dims, Values::kBits)), b = operand();
  d.node(s.chance(2) ? std::vector<uint32_t>{condition, a, b} : std::vector<uint32_t>{condition, b, a},
         {{dtype, dims}});
  return d.finish();
}

// Whether `to` lacks numbers that lie between two of its own.
bool narrows(int32_t dtype, int32_t to) {
  if (!plugin::is_float(to)) return false;
  if (plugin::is_float(dtype)) return reference::spacing(to, 1) > reference::spacing(dtype, 1);
  return dtype == TENON_I64 || (dtype == TENON_I32 && to != TENON_F64);
}

// From `dtype`: to the narrower floats, values beside the middle of two neighbours.
Drawn draw_cast(Sampler& s, int32_t dtype) {
  std::vector<int32_t> others;
  for (int32_t t : dtypes::kAll)
    if (t != dtype) others.push_back(t);
  const int32_t to = s.one_of(others);
  Drawing d("cast");
  const Dims dims = s.dims();
  const auto beside = [&] {
    return plugin::is_float(dtype) ? s.near_ties(dtype, to, dims) : s.integers_near_ties(dtype, to, dims);
  };
  const uint32_t x = d.input(narrows(dtype, to) && !s.chance(3) ? beside() : s.tensor(dtype, dims, s.any_values()));
  d.node({x}, {{to, dims}}).attr_dtype("to", to);
  return d.finish(std::string("to ") + plugin::dtype_name(to));
}

}  // namespace

std::vector<SampledOp> elementwise_samples() {
  std::vector<SampledOp> out;
  for (const op::Row* row : op::kRows)
    if (const int operands = op::arithmetic_operands(*row); operands && row->level != op::Level::kComposite)
      out.push_back(map(row->name, operands, dtypes::of_class(op::parse(row->signature).operands[0].dtypes)));
  out.push_back({"compare", dtypes::kAll, draw_compare});
  out.push_back({"select", dtypes::kAll, draw_select});
  out.push_back({"cast", dtypes::kAll, draw_cast});
  return out;
}

}  // namespace tenon::conformance
