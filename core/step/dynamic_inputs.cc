#include "step/dynamic_inputs.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace tenon {
namespace {

// Of an input, by axis.
std::map<int, BoundedDim> dims_of(const std::string& name, int rank, const FunctionOptions& options) {
  std::map<int, BoundedDim> out;
  const auto own = options.dynamic_shapes.find(name);
  if (own != options.dynamic_shapes.end()) out = own->second;
  if (options.max_batch > 0 && rank > 0) out[0] = {"batch", options.max_batch};
  return out;
}

Status check_size(const std::string& input, const Array& array, int axis, const BoundedDim& dim) {
  if (axis < 0 || axis >= array.shape().rank())
    return invalid("input '", input, "' is ", array.type().str(), ", which has no axis ", axis, " to be dynamic");
  if (array.dim(axis) <= dim.max) return {};
  return invalid("input '", input, "' is ", array.type().str(), ", axis ", axis, " ('", dim.name, "') holds at most ",
                 dim.max);
}

Status add_size(GivenInputs& out, const std::string& input, const std::string& dim, int64_t size) {
  const auto [entry, fresh] = out.sizes.try_emplace(dim, size);
  if (fresh || entry->second == size) return {};
  return invalid("input '", input, "' has ", size, " of the dynamic dimension '", dim, "' a unit, another input has ",
                 entry->second);
}

// Where the bytes of whole lines, along the last axis that differs, go.
class Lines {
 public:
  Lines(const Array& from, Array& to, int blocks, int axis) : from_(from), to_(to), blocks_(blocks), axis_(axis) {
    const int rank = from.shape().rank();
    int last = rank - 1;
    while (last > 0 && from.dim(last) == to.dim(last) && last != axis) --last;
    depth_ = last;
    line_ = static_cast<size_t>(dtype_bytes(from.dtype()));
    for (int a = last + 1; a < rank; ++a) line_ *= static_cast<size_t>(from.dim(a));
  }

  void copy(int axis = 0, int64_t source = 0, int64_t target = 0) {
    const int64_t have = from_.dim(axis), room = to_.dim(axis), parts = axis == axis_ ? blocks_ : 1;
    const int64_t each = have / parts, space = room / parts, count = std::min(each, space);
    for (int64_t p = 0; p < parts; ++p)
      for (int64_t i = 0; i < count; ++i) {
        const int64_t s = source * have + p * each + i, t = target * room + p * space + i;
        if (axis < depth_)
          copy(axis + 1, s, t);
        else
          std::memcpy(&to_.bytes()[static_cast<size_t>(t) * line_], &from_.bytes()[static_cast<size_t>(s) * line_],
                      line_);
      }
  }

 private:
  const Array& from_;
  Array& to_;
  int blocks_, axis_, depth_ = 0;
  size_t line_ = 0;
};

}  // namespace

Status check_dynamic(const FunctionOptions& options, int replicas) {
  if (options.max_batch != kBatchOfData && (options.max_batch < 0 || options.max_batch % replicas != 0))
    return invalid(options.name, ": max_batch is ", options.max_batch,
                   ", expected a number of rows that is divisible by number of replicas ", replicas);
  for (const auto& [input, dims] : options.dynamic_shapes)
    for (const auto& [axis, dim] : dims) {
      if (dim.max < 1 || dim.name.empty())
        return invalid(options.name, ": dynamic_shapes of '", input, "': axis ", axis, " is '", dim.name,
                       "' of at most ", dim.max, ", expected a name and 1 or more");
      if (axis == 0 && dim.max % replicas != 0)
        return invalid(options.name, ": dynamic_shapes of '", input, "': axis 0 holds at most ", dim.max,
                       ", which must be divisible by number of replicas ", replicas);
    }
  return {};
}

// What is not a scalar is a batch, which the units share.
Result<GivenInputs> given_inputs(const Arrays& inputs, const FunctionOptions& options, int replicas) {
  for (const auto& entry : options.dynamic_shapes)
    if (inputs.count(entry.first) == 0)
      return invalid(options.name, ": dynamic_shapes names the input '", entry.first, "', which is not given");
  GivenInputs out;
  for (const auto& [name, array] : inputs) {
    TraceInput input{name, array.type(), array.shape().rank() > 0, {}};
    if (array.elements() == 0) return invalid("input '", name, "' is ", array.type().str(), ", which is empty");
    for (const auto& [axis, dim] : dims_of(name, array.shape().rank(), options)) {
      TENON_TRY(check_size(name, array, axis, dim));
      input.type.shape.set(axis, dim.max);
      input.dims[axis] = dim.name;
    }
    if (input.split && array.dim(0) % replicas != 0)
      return invalid("input '", name, "' has ", array.dim(0), " rows, which must be divisible by number of replicas ",
                     replicas);
    if (input.split) input.type.shape.set(0, input.type.shape[0] / replicas);
    for (const auto& [axis, dim] : input.dims)
      TENON_TRY(add_size(out, name, dim, axis == 0 ? array.dim(0) / replicas : array.dim(axis)));
    if (input.split && out.rows == 1) out.rows = array.dim(0);
    out.signature.push_back(std::move(input));
  }
  return out;
}

Array resized(Array from, const Shape& to, int blocks, int axis) {
  if (from.shape() == to) return from;
  Array out(Type{from.dtype(), to});
  Lines(from, out, blocks, axis).copy();
  return out;
}

}  // namespace tenon
