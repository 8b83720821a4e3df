#include "ops/elementwise.h"

#include "device/kernel_sources.h"
#include "device/sources.h"
#include "device/table.h"
#include "tenon/op/coverage.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {

namespace {

// {0}, {1}, {2} stand for the operands. Integers wrap: their arithmetic is that of U, the unsigned type of their width.
struct Formula {
  std::string_view op;
  const char* floats;
  const char* integers = nullptr;
  const char* bools = nullptr;
};

constexpr Formula kFormulas[] = {
    {"neg", "-{0}", "(W)(0 - (U){0})"},
    {"abs", "fabs({0})", "({0} > 0 ? {0} : (W)(0 - (U){0}))"},
    {"floor", "floor({0})"},
    {"round", "rint({0})"},
    {"exp", "exp({0})"},
    {"expm1", "expm1({0})"},
    {"log", "log({0})"},
    {"log1p", "log1p({0})"},
    {"sqrt", "sqrt({0})"},
    {"sin", "sin({0})"},
    {"cos", "cos({0})"},
    {"tanh", "tanh({0})"},
    {"erf", "erf({0})"},
    {"add", "{0} + {1}", "(W)((U){0} + (U){1})"},
    {"sub", "{0} - {1}", "(W)((U){0} - (U){1})"},
    {"mul", "{0} * {1}", "(W)((U){0} * (U){1})"},
    {"div", "{0} / {1}", "({1} == 0 ? {0} : {1} == -1 ? (W)(0 - (U){0}) : {0} / {1})"},
    {"max", "({0} != {0} || {0} > {1} ? {0} : {1})", "max({0}, {1})", "({0} | {1})"},
    {"min", "({0} != {0} || {0} < {1} ? {0} : {1})", "min({0}, {1})", "({0} & {1})"},
    {"pow", "pow({0}, {1})"},
    {"atan2", "atan2({0}, {1})"},
    {"select", "({0} ? {1} : {2})", "({0} ? {1} : {2})", "({0} ? {1} : {2})"},
};

#define OPENCL_CHECK(name, Name) static_assert(tenon::op::has_if_arithmetic(kFormulas, #name), "no formula for " #name);
TENON_FOR_EACH_OP(OPENCL_CHECK)
#undef OPENCL_CHECK

const Formula* find_formula(std::string_view op) {
  for (const Formula& f : kFormulas)
    if (f.op == op) return &f;
  return nullptr;
}

std::string wide(int32_t dtype) { return std::string("W_") + dtype_name(dtype); }

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

std::string filled(const char* formula, int32_t dtype, const std::vector<std::string>& operands) {
  std::string text = formula;
  for (size_t i = 0; i < operands.size(); ++i) replace_all(text, "{" + std::to_string(i) + "}", operands[i]);
  replace_all(text, "(W)", dtype == TENON_I64 ? "(long)" : "(int)");
  replace_all(text, "(U)", dtype == TENON_I64 ? "(ulong)" : "(uint)");
  return text;
}

std::string cast_expression(int32_t from, int32_t to, const std::string& x) {
  const std::string name = dtype_name(to);
  if (to == TENON_BOOL) return "(" + x + " != 0)";
  if (is_float(to)) {
    const bool narrow = to == TENON_BF16 || to == TENON_F16;
    const bool exact =
        from == TENON_F32 || from == TENON_BF16 || from == TENON_F16 || from == TENON_U8 || from == TENON_BOOL;
    if (narrow && !exact) return "odd_float_" + std::string(dtype_name(from)) + "(" + x + ")";
    return "(" + wide(to) + ")" + x;
  }
  const char* types[] = {"int", "long", "uchar"};
  const char* type = types[to == TENON_I32 ? 0 : to == TENON_I64 ? 1 : 2];
  if (is_float(from)) return std::string("convert_") + type + "_sat_rtz(" + x + ")";
  return std::string("(") + type + ")" + x;
}

std::string compare_expression(int32_t kind, const std::vector<std::string>& x) {
  static const char* const signs[] = {"==", "!=", "<", "<=", ">", ">="};
  return "(" + x[0] + " " + signs[kind] + " " + x[1] + ")";
}

}  // namespace

bool is_elementwise(std::string_view op) { return op == "cast" || op == "compare" || find_formula(op); }

std::string expression(const NodeView& node, const std::vector<std::string>& operands) {
  const int32_t dtype = node.out(0).dtype();
  if (node.op() == "cast") return cast_expression(node.in(0).dtype(), dtype, operands[0]);
  if (node.op() == "compare") return compare_expression(node.enumerator("kind"), operands);
  const Formula& f = *find_formula(node.op());
  return filled(is_float(dtype) ? f.floats : dtype == TENON_BOOL ? f.bools : f.integers, dtype, operands);
}

std::string statement(const NodeView& node, const std::string& name, const std::vector<std::string>& operands) {
  const int32_t dtype = node.out(0).dtype();
  std::string value = expression(node, operands);
  if (dtype == TENON_BF16 || dtype == TENON_F16) {
    const std::string d = dtype_name(dtype);
    value = "to_wide_" + d + "(to_stored_" + d + "(" + value + "))";
  }
  return "const " + wide(dtype) + " " + name + " = " + value + ";";
}

Kernel map_kernel(Driver& driver, const NodeView& node, const std::string& body) {
  const uint64_t n = static_cast<uint64_t>(node.out(0).elements());
  const Sources sources(node, n, body);
  Launch launch = Launch::of_text(driver, sources.text() + kernel_source("map"), "map");
  launch.value<cl_ulong>(n);
  sources.add(launch);
  Kernel kernel = kernel_of({launch.items(n)});
  sources.allow_in_place(kernel);
  return kernel;
}

void add_elementwise(KernelTable& table) {
  using namespace tenon::plugin;
  const auto make = [](const NodeView& node, const Env& env) {
    std::vector<std::string> operands;
    for (int k = 0; k < node.operands(); ++k) operands.push_back("x" + std::to_string(k));
    return map_kernel(driver_of(*env.device), node, statement(node, "y0", operands));
  };
  for (const Formula& formula : kFormulas) {
    if (formula.op == "select") continue;
    table.add(formula.op,
              formula.bools      ? takes<NumbersAndBool>()
              : formula.integers ? takes<Numbers>()
                                 : takes<Floats>(),
              make);
  }
  table.add("select", takes<All>(1), make);
  table.add("cast", takes<All>(), make);
  table.add("compare", takes<All>(0, TENON_COMPARE_GE + 1), make);
}

}  // namespace opencl_gpu
