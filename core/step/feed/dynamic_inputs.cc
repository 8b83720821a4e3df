#include "step/feed/dynamic_inputs.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/strings.h"

namespace tenon {
namespace {

// The dynamic dimensions of an input, by axis.
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

constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();  // a size is an i32 input of the program

// The axes of each name, the first that was seen for all that follow: of arrays, how many elements those have.
using FirstOfName = std::map<std::string, InputAxis>;

Status expect_one_size(FirstOfName& first, const std::string& dim, const InputAxis& here) {
  const InputAxis& before = first.try_emplace(dim, here).first->second;
  if (before.size == here.size) return {};
  return invalid("input '", here.input, "' has ", here.size, " of the dynamic dimension '", dim, "', input '",
                 before.input, "' has ", before.size);
}

Status expect_one_bound(FirstOfName& first, const std::string& dim, const InputAxis& here, int replicas) {
  const InputAxis& before = first.try_emplace(dim, here).first->second;
  if (before.size != here.size)
    return invalid("'", dim, "' is at most ", before.size, " in input '", before.input, "' and ", here.size,
                   " in input '", here.input, "', expected one number");
  if (replicas > 1 && (before.axis == 0) != (here.axis == 0))
    return invalid("'", dim, "' is axis ", before.axis, " of input '", before.input, "' and axis ", here.axis,
                   " of input '", here.input, "', of which ", replicas, " units share axis 0 only");
  return {};
}

Status check_dim(const FunctionOptions& options, const InputAxis& at, const BoundedDim& dim, int replicas) {
  if (dim.max < 1 || dim.max > kMostElements || dim.name.empty())
    return invalid("axis ", at.axis, " is '", dim.name, "' of at most ", dim.max, ", expected a name and 1 to ",
                   kMostElements);
  if (at.axis != 0) return {};
  if (dim.max % replicas != 0)
    return invalid("axis 0 holds at most ", dim.max, ", which must be divisible by number of replicas ", replicas);
  if (options.max_batch > 0 && (dim.name != "batch" || dim.max != options.max_batch))
    return invalid("axis 0 is '", dim.name, "' of at most ", dim.max, ", expected 'batch' of max_batch ",
                   options.max_batch);
  return {};
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
  if (options.max_batch > kMostElements)
    return invalid(options.name, ": max_batch is ", options.max_batch, ", expected at most ", kMostElements);
  FirstOfName first;
  for (const auto& [input, dims] : options.dynamic_shapes)
    for (const auto& [axis, dim] : dims) {
      const InputAxis here{input, axis, dim.max};
      if (const Status fits = check_dim(options, here, dim, replicas); !fits.ok())
        return invalid(options.name, ": dynamic_shapes of '", input, "': ", fits.message());
      if (const Status one = expect_one_bound(first, dim.name, here, replicas); !one.ok())
        return invalid(options.name, ": dynamic_shapes: ", one.message());
    }
  return {};
}

// What is not a scalar is a batch, which the units share.
Result<GivenInputs> given_inputs(const Arrays& inputs, const FunctionOptions& options, int replicas) {
  for (const auto& entry : options.dynamic_shapes)
    if (inputs.count(entry.first) == 0)
      return invalid(options.name, ": dynamic_shapes names the input '", entry.first, "', which is not given");
  GivenInputs out;
  FirstOfName first;
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
    for (const auto& [axis, dim] : input.dims) {
      TENON_TRY(expect_one_size(first, dim, {name, axis, array.dim(axis)}));
      out.sizes[dim] = axis == 0 ? array.dim(0) / replicas : array.dim(axis);
    }
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
