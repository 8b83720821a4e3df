// example.so: every primitive of Tenon's op set, in the plainest loops.
//
// This file is the table: which op runs which loop of loops.h, and with which dtypes. A vendor's backend begins
// the same way; the SDK runtime plans memory, keeps queues and buffers, and calls the kernels.
#include "loops.h"
#include "tenon/plugin/host_backend.h"
#include "tenon/plugin/typed_table.h"

namespace example {
namespace {

template <class Types, class F>
void add_unary(KernelTable& table, const char* op, F f) {
  add_typed<Types>(table, op, [=](auto t, const NodeView& node) { return unary<decltype(t)>(node, f); });
}
template <class Types, class F>
void add_binary(KernelTable& table, const char* op, F f) {
  add_typed<Types>(table, op, [=](auto t, const NodeView& node) { return binary<decltype(t)>(node, f); });
}

#define LOOP(kernel) [](auto t, const NodeView& node) { return kernel<decltype(t)>(node); }
#define INDEXED_LOOP(kernel)                                                                                      \
  [](auto t, const NodeView& node) {                                                                              \
    return dispatch(Integers{}, node.in(1).dtype(), [&](auto i) { return kernel<decltype(t), decltype(i)>(node); }); \
  }

void fill_table(KernelTable& table) {
  add_unary<Numbers>(table, "neg", [](auto x) { return -x; });
  add_unary<Numbers>(table, "abs", [](auto x) { return x > 0 ? x : 0 - x; });
  add_unary<Floats>(table, "floor", [](auto x) { return std::floor(x); });
  add_unary<Floats>(table, "round", [](auto x) { return std::nearbyint(x); });
  add_unary<Floats>(table, "exp", [](auto x) { return std::exp(x); });
  add_unary<Floats>(table, "expm1", [](auto x) { return std::expm1(x); });
  add_unary<Floats>(table, "log", [](auto x) { return std::log(x); });
  add_unary<Floats>(table, "log1p", [](auto x) { return std::log1p(x); });
  add_unary<Floats>(table, "sqrt", [](auto x) { return std::sqrt(x); });
  add_unary<Floats>(table, "sin", [](auto x) { return std::sin(x); });
  add_unary<Floats>(table, "cos", [](auto x) { return std::cos(x); });
  add_unary<Floats>(table, "tanh", [](auto x) { return std::tanh(x); });
  add_unary<Floats>(table, "erf", [](auto x) { return std::erf(x); });
  add_binary<Numbers>(table, "add", std::plus<>());
  add_binary<Numbers>(table, "sub", std::minus<>());
  add_binary<Numbers>(table, "mul", std::multiplies<>());
  add_binary<Numbers>(table, "div", kQuotient);
  add_binary<NumbersAndBool>(table, "max", kLarger);
  add_binary<NumbersAndBool>(table, "min", kSmaller);
  add_binary<Floats>(table, "pow", [](auto a, auto b) { return std::pow(a, b); });
  add_binary<Floats>(table, "atan2", [](auto a, auto b) { return std::atan2(a, b); });
  add_typed<All>(table, "compare", LOOP(compare), TENON_COMPARE_GE + 1);
  add_typed<All>(table, "cast", LOOP(cast));
  add_by_width(table, "select", LOOP(select), 1);

  add_typed<Numbers>(table, "iota", LOOP(iota));
  table.add("random", takes<Types<int64_t>>(), [](const NodeView& node, const Env&) { return random(node); });
  add_by_width(table, "reshape", LOOP(same));
  add_by_width(table, "transpose", LOOP(transpose));
  add_by_width(table, "broadcast", LOOP(broadcast));
  add_by_width(table, "slice", LOOP(slice));
  add_by_width(table, "reverse", LOOP(reverse));
  add_by_width(table, "concat", LOOP(concat));
  add_typed<All>(table, "pad", LOOP(pad));

  add_by_width(table, "gather", INDEXED_LOOP(gather));
  add_typed<All>(table, "scatter", INDEXED_LOOP(scatter), TENON_SCATTER_SET + 1);
  add_typed<NumbersAndBool>(table, "reduce", LOOP(reduce), TENON_REDUCE_MIN + 1);
  add_typed<Numbers>(table, "sort", LOOP(sort));
  add_typed<Floats>(table, "dot", LOOP(dot));
  add_typed<Floats>(table, "conv", LOOP(conv));
  add_typed<Floats>(table, "conv_grad_input", LOOP(conv_grad_input));
  add_typed<Floats>(table, "conv_grad_filter", LOOP(conv_grad_filter));

  // An op of this vendor's own, which models ask for by name (tenon/custom_op.h).
  add_unary<Floats>(table, "example.softsign", [](auto x) { return x / (1 + std::fabs(x)); });
  // This device is one unit: what it gathers from all its replicas is what it has.
  add_by_width(table, "all_gather", LOOP(same));
  add_typed<Types<int32_t>>(table, "replica_id", LOOP(replica_id));
}

}  // namespace
}  // namespace example

TENON_DECLARE_BACKEND

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  constexpr uint32_t kMostUnits = 64;  // --device example:units=N, to try replicas
  static const tenon::plugin::HostBackend backend{"example", "1.0", "Example", TENON_CPU, example::fill_table, false,
                                                  kMostUnits, nullptr, nullptr, true};
  return tenon::plugin::init_host_backend(backend, host, out);
}
