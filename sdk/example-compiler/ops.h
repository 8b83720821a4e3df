// Each op as C.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/plugin/graph.h"
#include "tenon/plugin/kernel.h"

namespace compiler {

inline std::string text(int64_t n) { return std::to_string(n); }

// "float"; nullptr for bf16 and f16, which C does not have. A bool is a byte.
inline const char* c_type(int32_t dtype) {
  static const char* const types[] = {nullptr,   "float",   nullptr,   nullptr,  "double",
                                      "int32_t", "int64_t", "uint8_t", "uint8_t"};
  return dtype >= 0 && dtype <= 8 ? types[dtype] : nullptr;
}

// One C function: the values that it reads and writes, and its statements.
class Function {
 public:
  explicit Function(const tenon::plugin::GraphView& graph) : graph_(graph) {}

  // Names of pointers to what the function reads and writes; of one value the same.
  std::string in(uint32_t value) { return name("const ", "x", value, inputs_); }
  std::string out(uint32_t value) { return name("", "y", value, outputs_); }
  // "void f(..) {..}" without its name; the parameters are `arguments`, and `scratch` bytes of memory.
  std::string definition() const { return "(" + parameters_ + "char* scratch) {\n" + pointers_ + body + "}\n"; }

  std::string body;
  std::vector<uint32_t> arguments;
  uint64_t scratch = 0;

 private:
  std::string name(const std::string& constness, const char* letter, uint32_t value,
                   std::map<uint32_t, std::string>& names) {
    const auto [found, fresh] = names.emplace(value, letter + text(static_cast<int64_t>(names.size())));
    if (!fresh) return found->second;
    parameters_ += constness + "void* p" + found->second + ", ";
    pointers_ += "  " + constness + c_type(graph_.value(value).dtype()) + "* restrict " + found->second + " = p" +
                 found->second + ";\n";
    arguments.push_back(value);
    return found->second;
  }

  const tenon::plugin::GraphView& graph_;
  std::map<uint32_t, std::string> inputs_, outputs_;
  std::string parameters_, pointers_;
};

// What this backend answers for a node.
tenon::plugin::Verdict verdict_of(const tenon::plugin::NodeView& node);
// Whether element i of the result is an expression of elements i of the operands, and that expression.
bool is_expression(const tenon::plugin::NodeView& node);
std::string expression_of(const tenon::plugin::NodeView& node, const std::vector<std::string>& operands);
// Writes all of the function of any other op but reshape.
void write_statements(const tenon::plugin::NodeView& node, Function& f);

}  // namespace compiler
