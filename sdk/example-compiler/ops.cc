#include "ops.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tenon/plugin/element.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/op_attributes.h"
#include "tenon/plugin/strided.h"

namespace compiler {
namespace {

using namespace tenon::plugin;

// ---- text ----

// "for (..) for (..) ", one for each axis of the walk; at: where its element lies in array k.
template <int N>
std::string loops(const Walk<N>& walk) {
  std::string out = "  ";
  for (size_t d = 0; d < walk.axes().size(); ++d)
    out += "for (long i" + text(d) + " = 0; i" + text(d) + " < " + text(walk.axes()[d].n) + "; ++i" + text(d) + ") ";
  return out;
}
template <int N>
std::string at(const Walk<N>& walk, int k) {
  std::string out = "[" + text(walk.start()[k]);
  for (size_t d = 0; d < walk.axes().size(); ++d)
    if (walk.axes()[d].stride[k] != 0) out += " + i" + text(d) + " * " + text(walk.axes()[d].stride[k]);
  return out + "]";
}

// Numbers that the text after it calls by name.
std::string names(std::initializer_list<std::pair<const char*, int64_t>> list) {
  std::string out;
  for (const auto& [name, value] : list)
    out += (out.empty() ? "  const long " : ", ") + std::string(name) + " = " + text(value);
  return out + ";\n";
}

std::string fill(const NodeView& node, const std::string& y, const std::string& value) {
  return "  for (long i = 0; i < " + text(node.out(0).elements()) + "; ++i) " + y + "[i] = " + value + ";\n";
}

// x converted as cast does; an infinity of integers is the end of their range.
std::string literal(double x, int32_t dtype) {
  if (dtype == TENON_I32 || dtype == TENON_I64) {
    const int64_t n = dtype == TENON_I32 ? convert<int32_t>(x) : convert<int64_t>(x);
    return n == INT64_MIN ? "INT64_MIN" : "INT64_C(" + text(n) + ")";
  }
  if (dtype == TENON_U8 || dtype == TENON_BOOL) return text(dtype == TENON_U8 ? convert<uint8_t>(x) : x > 0);
  if (!std::isfinite(x)) return x != x ? "NAN" : x < 0 ? "-INFINITY" : "INFINITY";
  char digits[40] = {};  // to_chars: whatever the locale
  std::to_chars(digits, digits + sizeof digits, std::fabs(x), std::chars_format::hex);
  return std::string("(") + c_type(dtype) + ")" + (std::signbit(x) ? "-0x" : "0x") + digits;
}

// ---- statements, op by op ----

// transpose broadcast slice reverse all_gather: y in order, from x by strides.
void move(const NodeView& node, Function& f) {
  const Dims x = strides_of(node.in(0));
  Dims strides = node.op() == "transpose" || node.op() == "broadcast" ? Dims(node.out(0).rank()) : x;
  int64_t start = 0;
  for (size_t d = 0; d < x.size(); ++d) {
    if (node.op() == "transpose") strides[d] = x[node.list("perm")[d]];
    if (node.op() == "broadcast") strides[node.list("dims")[d]] = node.in(0).dims()[d] == 1 ? 0 : x[d];
    if (node.op() == "slice") start += item(node, "start", d, 0) * x[d], strides[d] = x[d] * item(node, "stride", d, 1);
  }
  for (int64_t d : node.list("axes")) start += (node.in(0).dims()[d] - 1) * x[d], strides[d] = -x[d];  // reverse
  const Walk<2> walk(node.out(0).dims(), {strides, strides_of(node.out(0))}, {start, 0});
  f.body +=
      loops(walk) + f.out(node.result_id(0)) + at(walk, 1) + " = " + f.in(node.operand_id(0)) + at(walk, 0) + ";\n";
}

// Operand i into the result, where its elements lie from `start` on by `strides`.
void put(const NodeView& node, int i, const Dims& strides, int64_t start, Function& f) {
  const Walk<2> walk(node.in(i).dims(), {strides_of(node.in(i)), strides}, {0, start});
  f.body +=
      loops(walk) + f.out(node.result_id(0)) + at(walk, 1) + " = " + f.in(node.operand_id(i)) + at(walk, 0) + ";\n";
}

void pad(const NodeView& node, Function& f) {
  Dims strides = strides_of(node.out(0));
  int64_t start = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    start += item(node, "low", d, 0) * strides[d];
    strides[d] *= 1 + item(node, "interior", d, 0);
  }
  f.body += fill(node, f.out(node.result_id(0)), literal(node.f64("value"), node.out(0).dtype()));
  put(node, 0, strides, start, f);
}

void concat(const NodeView& node, Function& f) {
  const int axis = static_cast<int>(node.i64("axis"));
  const Dims strides = strides_of(node.out(0));
  int64_t before = 0;
  for (int i = 0; i < node.operands(); before += node.in(i++).dim(axis))
    put(node, i, strides, before * strides[axis], f);
}

void iota(const NodeView& node, Function& f) {
  const int axis = static_cast<int>(node.i64("axis"));
  const std::string index = "i / " + text(strides_of(node.out(0))[axis]) + " % " + text(node.out(0).dim(axis));
  f.body += fill(node, f.out(node.result_id(0)), index);
}

void replica_id(const NodeView& node, Function& f) {
  f.body += fill(node, f.out(node.result_id(0)), text(node.i64("first")));
}

void random(const NodeView& node, Function& f) {
  const std::string seed = f.in(node.operand_id(0)), step = f.in(node.operand_id(1)), y = f.out(node.result_id(0));
  const int64_t n = node.out(0).elements(), most = int64_t{1} << 34;  // what is counted to
  const int64_t before = node.flag("per_replica") ? node.i64("first") % most * (n % most) % most : 0;
  f.body +=
      names({{"N", n}, {"before", before}, {"stream", node.i64("stream")}}) + "  const uint64_t seed = " + seed +
      "[0], step = " + step +
      "[0];\n  for (long e = 0; e < N;) {\n"
      "    uint32_t c[4] = {(uint32_t)((before + e) / 4), (uint32_t)stream, (uint32_t)step, (uint32_t)(step >> 32)};\n"
      "    philox(c, seed);\n"
      "    for (int i = (int)((before + e) % 4); i < 4 && e < N; ++i) " +
      y + "[e++] = (float)(c[i] >> 8) * 0x1p-24f;\n  }\n";
}

// gather y[b,p,j,s] = x[b,p,i[b,j],s]; scatter y[b,p,i[b,j],s] += or = u[b,p,j,s]. `row` and `at` are where the rows of s lie.
void indexed(const NodeView& node, Function& f) {
  const IndexShape g = index_shape(node);
  const std::string x = f.in(node.operand_id(0)), i = f.in(node.operand_id(1)), y = f.out(node.result_id(0));
  std::string statement = y + "[at + s] = inside ? " + x + "[row + s] : 0";
  if (node.op() == "scatter") {
    f.body += "  memcpy(" + y + ", " + x + ", " + text(node.out(0).bytes()) + ");\n";
    const char* sets = node.enumerator("kind") == TENON_SCATTER_ADD ? "+= " : "= ";
    statement = "if (inside) " + y + "[row + s] " + sets + f.in(node.operand_id(2)) + "[at + s]";
  }
  f.body += names({{"B", g.b}, {"P", g.p}, {"J", g.j}, {"S", g.s}, {"N", g.n}}) +
            "  for (long b = 0; b < B; ++b) for (long p = 0; p < P; ++p) for (long j = 0; j < J; ++j) {\n"
            "    const int64_t i = " +
            i +
            "[b * J + j];\n"
            "    const int inside = i >= 0 && i < N;\n"
            "    const long row = inside ? ((b * P + p) * N + i) * S : 0, at = ((b * P + p) * J + j) * S;\n"
            "    for (long s = 0; s < S; ++s) " +
            statement + ";\n  }\n";
}

void reduce(const NodeView& node, Function& f) {
  const Span<int64_t> axes = node.list("axes");
  const Dims kept = strides_of(node.out(0));
  Dims strides;  // of y along x's axes
  for (int d = 0, next = 0; d < node.in(0).rank(); ++d)
    strides.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? 0 : kept[next++]);
  const Walk<2> walk(node.in(0).dims(), {strides_of(node.in(0)), strides});
  const std::string y = f.out(node.result_id(0)), yi = y + at(walk, 1),
                    both = yi + ", " + f.in(node.operand_id(0)) + at(walk, 0);
  const int32_t kind = node.enumerator("kind"), dtype = node.out(0).dtype();
  const std::string first[] = {"0", "1", literal(-INFINITY, dtype), literal(INFINITY, dtype)};
  const char* const fold[] = {"SUM(", "PRODUCT(", "LARGER(", "SMALLER("};
  f.body += fill(node, y, first[kind]) + loops(walk) + yi + " = " + fold[kind] + both + ");\n";
}

void sort(const NodeView& node, Function& f) {
  const int64_t n = node.in(0).dim(-1);
  const std::string x = f.in(node.operand_id(0)), y = f.out(node.result_id(0)), i = f.out(node.result_id(1));
  f.scratch = static_cast<uint64_t>(n) * 8;
  f.body += names({{"ROWS", node.in(0).elements() / n}, {"N", n}, {"K", node.i64("k")}}) +
            "  int32_t* order = (int32_t*)scratch;\n  for (long r = 0; r < ROWS; ++r) {\n    sort_" +
            c_type(node.in(0).dtype()) + "(" + x + " + r * N, order, order + N, N, " + text(node.flag("descending")) +
            ");\n    for (long k = 0; k < K; ++k) " + y + "[r * K + k] = " + x + "[r * N + order[k]], " + i +
            "[r * K + k] = order[k];\n  }\n";
}

// Sums of products: `statements` add up y, of the operands' type T: the result or, where that is narrower, scratch.
void add_up(const NodeView& node, Function& f, const std::string& statements) {
  const std::string result = f.out(node.result_id(0));
  const bool narrows = node.in(0).dtype() != node.out(0).dtype();
  if (narrows) f.scratch = static_cast<uint64_t>(node.out(0).elements()) * 8;
  f.body += std::string("  typedef ") + c_type(node.in(0).dtype()) +
            " T;\n  T* restrict y = " + (narrows ? "(T*)scratch" : result) + ";\n" + fill(node, "y", "0") + statements;
  if (narrows) f.body += fill(node, result, "y[i]");
}

void dot(const NodeView& node, Function& f) {
  const bool ta = node.flag("ta"), tb = node.flag("tb");
  const int64_t M = node.out(0).dim(-2), N = node.out(0).dim(-1), K = node.in(0).dim(ta ? -2 : -1);
  const std::string a = f.in(node.operand_id(0)), b = f.in(node.operand_id(1));
  std::string row = "for (long k = 0; k < K; ++k) for (long n = 0; n < N; ++n) row[n] += a[" +
                    std::string(ta ? "k * M + m" : "m * K + k") + "] * b[" + (tb ? "n * K + k" : "k * N + n") + "]";
  const std::string inner = "inner_" + std::string(c_type(node.in(0).dtype()));
  if (tb && !ta) row = "for (long n = 0; n < N; ++n) row[n] = " + inner + "(a + m * K, b + n * K, K)";
  add_up(node, f,
         names({{"P", node.out(0).elements() / (M * N)}, {"M", M}, {"N", N}, {"K", K}}) +
             "  for (long p = 0; p < P; ++p) for (long m = 0; m < M; ++m) {\n    const T *a = " + a +
             " + p * M * K, *b = " + b + " + p * K * N;\n    T* row = y + (p * M + m) * N;\n    " + row + ";\n  }\n");
}

// The loop of conv and its gradients: each channel of x at each tap of each window that lies inside x, and the n outputs of
// its group; xi, wi and yi are where the channel, its weights and the first output lie.
void conv(const NodeView& node, Function& f) {
  const ConvShape s = conv_shape(node);
  const std::string a = f.in(node.operand_id(0)), b = f.in(node.operand_id(1));
  std::string points = "  for (long b = 0; b < " + text(s.batch) + "; ++b) ", taps, x = "b", y = "b", w = "0";
  for (int d = 0; d < 3; ++d) {
    const std::string p = "p" + text(d), t = "t" + text(d), i = "i" + text(d);
    points += "for (long " + p + " = 0; " + p + " < " + text(s.out[d]) + "; ++" + p + ") ";
    taps += "for (long " + t + " = 0; " + t + " < " + text(s.taps[d]) + "; ++" + t + ") {\n    const long " + i +
            " = " + p + " * " + text(s.stride[d]) + " + " + t + " * " + text(s.dilation[d]) + " - " + text(s.low[d]) +
            ";\n    if (" + i + " < 0 || " + i + " >= " + text(s.size[d]) + ") continue;\n    ";
    x = "(" + x + " * " + text(s.size[d]) + " + " + i + ")";
    y = "(" + y + " * " + text(s.out[d]) + " + " + p + ")";
    w = "(" + w + " * " + text(s.taps[d]) + " + " + t + ")";
  }
  std::string statement = "for (long k = 0; k < n; ++k) y[yi + k] += " + a + "[xi] * " + b + "[wi + k]";
  const std::string inner = "inner_" + std::string(c_type(node.in(0).dtype()));
  if (node.op() == "conv_grad_input") statement = "y[xi] += " + inner + "(" + a + " + yi, " + b + " + wi, n)";
  if (node.op() == "conv_grad_filter")
    statement = "for (long k = 0; k < n; ++k) y[wi + k] += " + a + "[xi] * " + b + "[yi + k]";
  const std::string sizes =
      names({{"C", s.c}, {"O", s.o}, {"G", s.groups}, {"I", s.c / s.groups}, {"n", s.o / s.groups}});
  const std::string places =
      "const long xi = " + x + " * C + g * I + c, wi = (" + w + " * I + c) * O + g * n, yi = " + y + " * O + g * n;";
  add_up(node, f,
         sizes + points + taps + "for (long g = 0; g < G; ++g) for (long c = 0; c < I; ++c) {\n      " + places +
             "\n      " + statement + ";\n    }\n  }}}\n");
}

// ---- the table ----

struct Op {
  std::string_view op;
  const char* expression;                                    // $0 $1 $2: operands; @: f for float, nothing for double
  void (*statements)(const NodeView&, Function&) = nullptr;  // of an op that is no expression
};

constexpr Op kOps[] = {{"neg", "-$0"},
                       {"abs", "$0 > 0 ? $0 : 0 - $0"},
                       {"floor", "floor@($0)"},
                       {"round", "nearbyint@($0)"},
                       {"exp", "exp@($0)"},
                       {"expm1", "expm1@($0)"},
                       {"log", "log@($0)"},
                       {"log1p", "log1p@($0)"},
                       {"sqrt", "sqrt@($0)"},
                       {"sin", "sin@($0)"},
                       {"cos", "cos@($0)"},
                       {"tanh", "tanh@($0)"},
                       {"erf", "erf@($0)"},
                       {"add", "$0 + $1"},
                       {"sub", "$0 - $1"},
                       {"mul", "$0 * $1"},
                       {"div", "$0 / $1"},  // div of integers: pattern_of
                       {"max", "LARGER($0, $1)"},
                       {"min", "SMALLER($0, $1)"},
                       {"pow", "pow@($0, $1)"},
                       {"atan2", "atan2@($0, $1)"},
                       {"compare", "by kind"},
                       {"cast", "by dtypes"},
                       {"select", "$0 ? $1 : $2"},
                       {"reshape", nullptr},
                       {"iota", nullptr, iota},
                       {"random", nullptr, random},
                       {"transpose", nullptr, move},
                       {"broadcast", nullptr, move},
                       {"slice", nullptr, move},
                       {"reverse", nullptr, move},
                       {"all_gather", nullptr, move},
                       {"pad", nullptr, pad},
                       {"concat", nullptr, concat},
                       {"gather", nullptr, indexed},
                       {"scatter", nullptr, indexed},
                       {"reduce", nullptr, reduce},
                       {"sort", nullptr, sort},
                       {"dot", nullptr, dot},
                       {"conv", nullptr, conv},
                       {"conv_grad_input", nullptr, conv},
                       {"conv_grad_filter", nullptr, conv},
                       {"replica_id", nullptr, replica_id}};

const Op* find(std::string_view op) {
  const Op* row = std::find_if(std::begin(kOps), std::end(kOps), [op](const Op& o) { return o.op == op; });
  return row == std::end(kOps) ? nullptr : row;
}

std::string pattern_of(const NodeView& node) {
  static const char* const kCompare[] = {"$0 == $1", "$0 != $1", "$0 < $1", "$0 <= $1", "$0 > $1", "$0 >= $1"};
  const int32_t from = node.in(0).dtype(), to = node.out(0).dtype();
  if (node.op() == "compare") return kCompare[node.enumerator("kind")];
  if (node.op() == "div" && !is_float(from)) return "QUOTIENT($0, $1)";
  if (node.op() != "cast") return find(node.op())->expression;
  if (to == TENON_BOOL) return "$0 != 0";
  if (!is_float(from) || is_float(to)) return "$0";
  return "TO_INTEGER($0, " + std::string(c_type(to)) + ", " + literal(-INFINITY, to) + ", " + literal(INFINITY, to) +
         ")";
}

}  // namespace

Verdict verdict_of(const NodeView& node) {
  const auto no = [&node](const std::string& why) { return refuse(std::string(node.op()) + ": " + why); };
  if (const std::string_view name = unknown_attribute(node); !name.empty())
    return no("unknown attribute " + std::string(name));
  if (const std::string value = unknown_value(node); !value.empty()) return no(value + " is not known here");
  if (!find(node.op()) || node.version() != 1) return {TENON_DECOMPOSE, "primitives are compiled, and this is none"};
  for (int i = 0; i < node.operands() + node.results(); ++i) {
    const int32_t dtype = (i < node.operands() ? node.in(i) : node.out(i - node.operands())).dtype();
    if (!c_type(dtype)) return no(std::string("C has no ") + dtype_name(dtype));
  }
  if (node.op() == "all_gather" && node.in(0).elements() != node.out(0).elements())
    return no("this device is one unit");
  return take();
}

bool is_expression(const NodeView& node) { return find(node.op())->expression != nullptr; }

std::string expression_of(const NodeView& node, const std::vector<std::string>& operands) {
  std::string out;
  const std::string pattern = pattern_of(node);
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '$')
      out += operands[static_cast<size_t>(pattern[++i] - '0')];
    else if (pattern[i] != '@')
      out += pattern[i];
    else if (node.in(0).dtype() == TENON_F32)
      out += 'f';
  }
  return out;
}

void write_statements(const NodeView& node, Function& f) { find(node.op())->statements(node, f); }

}  // namespace compiler
