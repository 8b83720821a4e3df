// EinsumDense.
#include "tenon/einsum_dense.h"

#include <algorithm>

#include "layer/object/layer_scope.h"

namespace tenon {
namespace {

// The letters of the equation, "..." replaced by characters that are no letters, one an axis.
struct Equation {
  std::string x, kernel, y;
};

constexpr std::string_view kDots = "...";

bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

// `part` with the dots replaced; letters may come once.
std::string spelled(const LayerScope& scope, const std::string& equation, std::string part, const std::string& dots) {
  if (const size_t at = part.find(kDots); at != std::string::npos) part.replace(at, kDots.size(), dots);
  for (size_t i = 0; i < part.size(); ++i)
    scope.expect((std::isalpha(static_cast<unsigned char>(part[i])) || has(dots, part[i])) && part.find(part[i]) == i,
                 "equation is '", equation, "', expected letters, each once, as in 'abc,cd->abd'");
  return part;
}

Equation parsed(const LayerScope& scope, const std::string& text, int rank) {
  const size_t comma = text.find(','), arrow = text.find("->");
  scope.expect(comma != std::string::npos && arrow != std::string::npos && comma < arrow, "equation is '", text,
               "', expected one like 'abc,cd->abd'");
  const std::string x = text.substr(0, comma), y = text.substr(arrow + 2);
  const bool dotted = x.find(kDots) != std::string::npos;
  scope.expect(dotted == (y.find(kDots) != std::string::npos), "equation is '", text,
               "', expected '...' in both the input and the result, or in neither");
  const int axes = rank - static_cast<int>(x.size()) + (dotted ? 3 : 0);
  scope.expect(dotted ? axes >= 0 : axes == 0, "the input has rank ", rank, ", the equation is '", text, "'");
  std::string dots;
  for (int i = 0; i < axes; ++i) dots += static_cast<char>('0' + i);
  return {spelled(scope, text, x, dots), spelled(scope, text, text.substr(comma + 1, arrow - comma - 1), {}),
          spelled(scope, text, y, dots)};
}

// Sizes of the result's letters: those of x, and of output_shape.
std::vector<int64_t> result_sizes(const LayerScope& scope, Tensor x, const Equation& e, const Ints& output_shape) {
  std::vector<int64_t> sizes;
  size_t given = 0;
  for (size_t i = 0; i < e.y.size(); ++i) {
    const size_t at = e.x.find(e.y[i]);
    const int64_t own = at == std::string::npos ? -1 : x.dim(static_cast<int>(at));
    const bool is_dot = !std::isalpha(static_cast<unsigned char>(e.y[i]));
    const int64_t wanted = i == 0 || is_dot || given >= output_shape.size() ? -1 : output_shape[given];
    given += i > 0 && !is_dot;
    scope.expect(own >= 0 ? wanted == -1 || wanted == own : wanted >= 1, "output_shape [", join(output_shape, ","),
                 "] has ", wanted, " for '", std::string(1, e.y[i]), "', expected ",
                 own >= 0 ? cat(own, ", or -1") : "1 or more");
    sizes.push_back(own >= 0 ? own : wanted);
  }
  // The batch is the first axis of the result, one of the dots or a letter.
  scope.expect(given == output_shape.size(), "output_shape [", join(output_shape, ","), "] has ", output_shape.size(),
               " sizes, expected ", given);
  return sizes;
}

std::vector<int64_t> kernel_sizes(const LayerScope& scope, Tensor x, const Equation& e,
                                  const std::vector<int64_t>& result) {
  std::vector<int64_t> sizes;
  for (const char c : e.kernel) {
    const size_t in_y = e.y.find(c), in_x = e.x.find(c);
    scope.expect(in_y != std::string::npos || in_x != std::string::npos, "the kernel's '", std::string(1, c),
                 "' is in neither the input nor the result");
    sizes.push_back(in_y != std::string::npos ? result[in_y] : x.dim(static_cast<int>(in_x)));
  }
  return sizes;
}

// x's axes in the order of `letters`.
Tensor in_order(Tensor x, const std::string& has_letters, const std::string& letters) {
  Ints perm;
  for (const char c : letters) perm.push_back(static_cast<int64_t>(has_letters.find(c)));
  return std::is_sorted(perm.begin(), perm.end()) ? x : transpose(x, perm);
}

int64_t product_of(const std::string& letters, const std::string& of, const std::vector<int64_t>& sizes) {
  int64_t n = 1;
  for (const char c : letters) n *= sizes[of.find(c)];
  return n;
}

// The sum of x * kernel over the letters that are not in y.
Tensor einsum(Tensor x, Tensor kernel, Equation e) {
  Ints alone;
  for (size_t i = e.x.size(); i-- > 0;)
    if (!has(e.kernel, e.x[i]) && !has(e.y, e.x[i])) alone.push_back(static_cast<int64_t>(i)), e.x.erase(i, 1);
  if (!alone.empty()) x = reduce_sum(x, alone);
  std::string both, rows, columns, summed;  // letters of x, kernel and y; of x and y; of kernel and y; of x and kernel
  for (const char c : e.x) (!has(e.kernel, c) ? rows : has(e.y, c) ? both : summed) += c;
  for (const char c : e.kernel)
    if (!has(e.x, c)) columns += c;
  const std::vector<int64_t> of_x = x.shape().vec(), of_kernel = kernel.shape().vec();
  const int64_t m = product_of(rows, e.x, of_x), n = product_of(columns, e.kernel, of_kernel);
  const int64_t k = product_of(summed, e.x, of_x), p = product_of(both, e.x, of_x);
  const Tensor a = in_order(x, e.x, both + rows + summed), b = in_order(kernel, e.kernel, both + summed + columns);
  const Tensor y =
      both.empty() ? dot(reshape(a, {m, k}), reshape(b, {k, n})) : dot(reshape(a, {p, m, k}), reshape(b, {p, k, n}));
  std::vector<int64_t> dims;
  for (const char c : both + rows) dims.push_back(of_x[e.x.find(c)]);
  for (const char c : columns) dims.push_back(of_kernel[e.kernel.find(c)]);
  return in_order(reshape(y, Shape(dims)), both + rows + columns, e.y);
}

Tensor with_bias(const LayerScope& scope, Tensor y, const Equation& e, const EinsumDenseOptions& o) {
  if (o.bias_axes.empty()) return y;
  size_t first = e.y.size();
  for (const char c : o.bias_axes) {
    scope.expect(has(e.y, c), "bias_axes has '", std::string(1, c), "', which the result lacks");
    scope.expect(std::count(o.bias_axes.begin(), o.bias_axes.end(), c) == 1, "bias_axes has '", std::string(1, c),
                 "' twice");
    first = std::min(first, e.y.find(c));
  }
  std::vector<int64_t> dims;
  for (size_t i = first; i < e.y.size(); ++i) dims.push_back(has(o.bias_axes, e.y[i]) ? y.dim(static_cast<int>(i)) : 1);
  return y + weight(y, "bias", Shape(dims), o.bias_initializer, o.trainable, o.bias_regularizer, o.bias_constraint);
}

}  // namespace

Tensor einsum_dense(Tensor x, const EinsumDenseOptions& o) {
  const LayerScope scope(x, "einsum_dense", o.name);
  x = scope.as_float(x, 1);
  const Equation e = parsed(scope, o.equation, x.rank());
  for (const char c : e.y)
    scope.expect(has(e.x, c) || has(e.kernel, c), "the result's '", std::string(1, c),
                 "' is in neither the input nor the kernel");
  for (size_t i = 0; i < e.x.size(); ++i)
    if (has(e.kernel, e.x[i])) scope.expect_static(x, static_cast<int>(i));
  const std::vector<int64_t> sizes = kernel_sizes(scope, x, e, result_sizes(scope, x, e, o.output_shape));
  std::string out;
  for (const char c : e.kernel)
    if (has(e.y, c)) out += c;
  const Shape shape(sizes);
  const int64_t columns = product_of(out, e.kernel, sizes);
  const Initializer first = o.kernel_initializer({shape.elements() / columns, columns});
  const Tensor kernel = weight(x, "kernel", shape, first, o.trainable, o.kernel_regularizer, o.kernel_constraint);
  return penalized(activate(with_bias(scope, einsum(x, kernel, e), e, o), o.activation), o);
}

}  // namespace tenon
