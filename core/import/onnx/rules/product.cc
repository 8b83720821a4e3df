// Sums of products.
#include <algorithm>
#include <map>
#include <set>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/quantized.h"

namespace tenon::onnx {
namespace {

Shape leading(const Shape& x) { return Shape(std::vector<int64_t>(x.begin(), x.end() - 2)); }

Shape with_plane(const Shape& lead, int64_t rows, int64_t columns) {
  std::vector<int64_t> dims = lead.vec();
  dims.push_back(rows);
  dims.push_back(columns);
  return Shape(dims);
}

// The product of matrices [.., M, K] and [.., K, N].
Tensor product(Call& c, Tensor a, Tensor b) {
  const DotOptions options{.precision = c.walk.precision()};
  if (b.rank() == 2 && a.rank() > 2) {
    std::vector<int64_t> dims = a.shape().vec();
    const int64_t rows = dims.back() == 0 ? 0 : a.elements() / dims.back();
    dims.back() = b.dim(1);
    return reshape(dot(reshape(a, {rows, a.dim(-1)}), b, options), Shape(dims));
  }
  const Shape lead = broadcast_shapes(leading(a.shape()), leading(b.shape()));
  return dot(broadcast_to(a, with_plane(lead, a.dim(-2), a.dim(-1))),
             broadcast_to(b, with_plane(lead, b.dim(-2), b.dim(-1))), options);
}

}  // namespace

Tensor matmul(Call& c, Tensor a, Tensor b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = reshape(a, {1, a.dim(0)});
  if (column) b = reshape(b, {b.dim(0), 1});
  if (a.rank() < 2 || b.rank() < 2) fail("a product of ", a.type().str(), " and ", b.type().str());
  const DType dtype = a.dtype();
  // Integers are exact in f64 up to 2^53.
  Tensor y = is_float(dtype) ? product(c, a, b) : cast(product(c, cast(a, DType::kF64), cast(b, DType::kF64)), dtype);
  std::vector<int64_t> dims = y.shape().vec();
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return reshaped(y, dims);
}

namespace product_ops {
namespace {

void matmul_rule(Call& c) { c.give_number(matmul(c, c.in(0), c.in(1)), c.element()); }

void gemm(Call& c) {
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  Tensor a = c.in(0), b = c.in(1);
  Tensor y;
  if (is_float(a.dtype())) {
    const DotOptions how{.ta = c.flag("transA"), .tb = c.flag("transB"), .precision = c.walk.precision()};
    if (alpha == 1 && beta == 1 && c.has(2) && c.in(2).rank() == 1 && c.in(2).dim(0) == b.dim(how.tb ? 0 : 1))
      return c.give(dot_bias_act(a, b, c.in(2), {}, Activation::kNone, 0, how));  // one op, as model code has it
    y = dot(a, b, how);
  } else {
    y = matmul(c, c.flag("transA") ? transpose(a, {1, 0}) : a, c.flag("transB") ? transpose(b, {1, 0}) : b);
  }
  if (alpha != 1) y = y * alpha;
  if (c.has(2) && beta != 0) y = y + (beta == 1 ? c.in(2) : c.in(2) * beta);
  c.give(y);
}

void matmul_integer(Call& c) {
  Tensor a = c.in(0), b = c.in(1);
  if (c.has(2)) {
    const Tensor zero = c.in(2);
    a = a - (zero.rank() == 1 && zero.elements() > 1 ? reshape(zero, {zero.elements(), 1}) : zero);
  }
  if (c.has(3)) b = b - c.in(3);
  c.give(matmul(c, a, b), Element::kI32);
}

Tensor scale_of(Call& c, size_t i, const Shape& shape, int64_t axis) {
  return spread(c, cast(c.in(i), DType::kF32), shape, axis, 0);
}

// a, its scale and zero point, b and its own, those of the result.
void q_linear_matmul(Call& c) {
  const auto whole = [&](size_t i, int64_t axis) {
    const Tensor x = c.in(i);
    return broadcasted(sub, x, spread(c, c.in(i + 2), x.shape(), axis, 0));
  };
  const Tensor y = matmul(c, whole(0, -2), whole(3, -1));
  const Tensor real = broadcasted(mul, broadcasted(mul, cast(y, DType::kF32), scale_of(c, 1, y.shape(), -2)),
                                  scale_of(c, 4, y.shape(), -1));
  c.give(quantized(broadcasted(div, real, scale_of(c, 6, y.shape(), -1)),
                   c.in(7).rank() == 0 ? c.in(7) : spread(c, c.in(7), y.shape(), -1, 0), c.element(7)),
         c.element(7));
}

// An equation's letters: of each operand, and of the result.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

// "..." stands for as many capital letters as a tensor has axes more.
Equation equation_of(Call& c, const Tensors& xs) {
  std::string text;
  for (const char letter : c.text("equation", ""))
    if (letter != ' ') text += letter;
  const size_t arrow = text.find("->");
  Equation out;
  std::string left = text.substr(0, arrow) + ",";
  for (size_t at = 0, end; (end = left.find(',', at)) != std::string::npos; at = end + 1)
    out.operands.push_back(left.substr(at, end - at));
  if (out.operands.size() != xs.size())
    fail("equation '", text, "' of ", out.operands.size(), " operands, found ", xs.size());
  std::string dots;
  for (size_t i = 0; i < xs.size(); ++i) {
    const size_t at = out.operands[i].find("...");
    if (at == std::string::npos) continue;
    const int more = xs[i].rank() - static_cast<int>(out.operands[i].size()) + 3;
    if (more < 0 || more > 8) fail("equation '", text, "' beside ", xs[i].type().str());
    std::string letters;
    for (int k = 0; k < more; ++k) letters += static_cast<char>('1' + 8 - more + k);
    if (letters.size() > dots.size()) dots = letters;
    out.operands[i].replace(at, 3, letters);
  }
  if (arrow == std::string::npos) {
    std::map<char, int> count;
    for (const std::string& operand : out.operands)
      for (const char letter : operand) ++count[letter];
    out.result = dots;
    for (const auto& [letter, times] : count)
      if (times == 1 && (letter < '1' || letter > '9')) out.result += letter;
  } else {
    out.result = text.substr(arrow + 2);
    const size_t at = out.result.find("...");
    if (at != std::string::npos) out.result.replace(at, 3, dots);
  }
  for (size_t i = 0; i < xs.size(); ++i)
    if (static_cast<int>(out.operands[i].size()) != xs[i].rank())
      fail("equation '", text, "' beside ", xs[i].type().str());
  return out;
}

// A letter twice in one operand: its diagonal.
Tensor diagonal(Tensor x, std::string& letters) {
  for (size_t a = 0; a < letters.size(); ++a) {
    const size_t b = letters.find(letters[a], a + 1);
    if (b == std::string::npos) continue;
    Graph& graph = *x.graph();
    const Tensor rows = iota(graph, DType::kI32, x.shape(), static_cast<int64_t>(a)),
                 columns = iota(graph, DType::kI32, x.shape(), static_cast<int64_t>(b));
    x = reduce(select(compare(rows, columns, CompareKind::kEq), x, scalar_like(x, 0)), {static_cast<int64_t>(b)},
               ReduceKind::kSum);
    letters.erase(b, 1);
    --a;
  }
  return x;
}

Tensor summed(Tensor x, std::string& letters, const std::string& keep) {
  Ints gone;
  std::string left;
  for (size_t a = 0; a < letters.size(); ++a) {
    if (keep.find(letters[a]) == std::string::npos)
      gone.push_back(static_cast<int64_t>(a));
    else
      left += letters[a];
  }
  letters = left;
  return gone.empty() ? x : reduce(x, gone, ReduceKind::kSum);
}

Tensor arranged(Tensor x, const std::string& from, const std::string& to) {
  Ints perm;
  for (const char letter : to) perm.push_back(static_cast<int64_t>(from.find(letter)));
  return perm == iota_list(static_cast<int64_t>(perm.size())) ? x : transpose(x, perm);
}

// Letters of both that stay are a batch; those of both that go are summed by a product of matrices.
struct Pair {
  Tensor x;
  std::string letters;
};
Pair paired(Call& c, Pair a, Pair b, const std::string& keep) {
  std::string batch, sum, rows, columns;
  for (const char letter : a.letters) {
    const bool in_b = b.letters.find(letter) != std::string::npos, stays = keep.find(letter) != std::string::npos;
    (in_b ? stays ? batch : sum : rows) += letter;
  }
  for (const char letter : b.letters)
    if (a.letters.find(letter) == std::string::npos) columns += letter;
  a.x = arranged(a.x, a.letters, batch + rows + sum);
  b.x = arranged(b.x, b.letters, batch + sum + columns);
  std::map<char, int64_t> size;
  const auto note = [&](Tensor x, const std::string& letters) {
    for (size_t i = 0; i < letters.size(); ++i)
      size[letters[i]] = std::max(size[letters[i]], x.dim(static_cast<int>(i)));
  };
  note(a.x, batch + rows + sum);
  note(b.x, batch + sum + columns);
  const auto dims_of = [&](const std::string& letters) {
    Ints dims;
    for (const char letter : letters) dims.push_back(size[letter]);
    return dims;
  };
  const auto count = [&](const std::string& letters) {
    int64_t n = 1;
    for (const char letter : letters) n *= size[letter];
    return n;
  };
  a.x = broadcast_to(a.x, Shape(dims_of(batch + rows + sum)));
  b.x = broadcast_to(b.x, Shape(dims_of(batch + sum + columns)));
  const Tensor y = matmul(c, reshape(a.x, {count(batch), count(rows), count(sum)}),
                          reshape(b.x, {count(batch), count(sum), count(columns)}));
  return {reshaped(y, dims_of(batch + rows + columns)), batch + rows + columns};
}

void einsum(Call& c) {
  Tensors xs;
  for (size_t i = 0; i < c.inputs(); ++i) xs.push_back(c.in(i));
  const Equation equation = equation_of(c, xs);
  std::vector<Pair> rest;
  for (size_t i = 0; i < xs.size(); ++i) {
    std::string letters = equation.operands[i];
    const Tensor x = diagonal(xs[i], letters);
    rest.push_back({x, letters});
  }
  const auto kept = [&](size_t from) {
    std::string keep = equation.result;
    for (size_t i = from; i < rest.size(); ++i) keep += rest[i].letters;
    return keep;
  };
  Pair y = rest[0];
  y.x = summed(y.x, y.letters, kept(1));
  for (size_t i = 1; i < rest.size(); ++i) {
    Pair next = rest[i];
    next.x = summed(next.x, next.letters, kept(i + 1) + y.letters);
    y = paired(c, y, next, kept(i + 1));
    y.x = summed(y.x, y.letters, kept(i + 1));
  }
  c.give(arranged(y.x, y.letters, equation.result));
}

// By minors: of small matrices alone.
Tensor determinant(Tensor x) {
  const int64_t n = x.dim(-1);
  const int end = x.rank() - 1;
  std::vector<int64_t> lead(x.shape().begin(), x.shape().end() - 2);
  if (n == 1) return reshape(x, Shape(lead));
  Tensor sum;
  for (int64_t i = 0; i < n; ++i) {
    const Tensor first = reshape(part(part(x, end - 1, 0, 1), end, i, i + 1), Shape(lead)),
                 below = part(x, end - 1, 1, n);
    Tensors sides;
    if (i > 0) sides.push_back(part(below, end, 0, i));
    if (i + 1 < n) sides.push_back(part(below, end, i + 1, n));
    const Tensor term = mul(first, determinant(sides.size() == 1 ? sides[0] : concat(sides, end)));
    sum = !sum ? term : i % 2 == 0 ? add(sum, term) : sub(sum, term);
  }
  return sum;
}

void det(Call& c) {
  const Tensor x = c.in(0);
  if (x.rank() < 2 || x.dim(-1) != x.dim(-2) || x.dim(-1) > 6)
    c.refuse("a determinant of ", x.type().str(), ", expected square matrices of up to 6 rows");
  c.give(determinant(x));
}

constexpr Rule kRules[] = {
    {"Det", det},
    {"Einsum", einsum},
    {"Gemm", gemm},
    {"MatMul", matmul_rule},
    {"MatMulInteger", matmul_integer},
    {"QLinearMatMul", q_linear_matmul},
};

}  // namespace
}  // namespace product_ops

Rules product_rules() { return product_ops::kRules; }

}  // namespace tenon::onnx
