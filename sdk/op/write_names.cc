// write_names FILE: writes tenon/op/names.h from the table of ops, the places of operands and results by name.
#include <fstream>
#include <string>

#include "tenon/op/signature.h"
#include "tenon/op/table.h"

namespace {

using tenon::op::Row;
using tenon::op::Signature;

template <class Items>
std::string names_of(const Items& items) {
  std::string out;
  for (const auto& item : items) out.append(out.empty() ? "" : ", ").append(item.name);
  return out;
}

std::string struct_of(const Row& row) {
  const Signature s = tenon::op::parse(row.signature);
  std::string out = "struct " + std::string(row.name) + " {\n";
  if (!s.operands.empty()) out += "  enum : int { " + names_of(s.operands) + " };\n";
  return out + "  struct out {\n    enum : int { " + names_of(s.results) + " };\n  };\n};\n";
}

// "layer_norm" -> "LayerNorm".
std::string camel(std::string_view op) {
  std::string out;
  bool upper = true;
  for (const char c : op) {
    if (c != '_') out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::ofstream file(argc > 1 ? argv[1] : "/dev/stdout");
  file << "// Written from tenon/op/table.h: the places of the operands of each op by name, and in `out` of its "
          "results:\n"
          "// node.in(op::conv::w), node.out(op::lstm::out::gates).\n"
          "#pragma once\n\nnamespace tenon::op {\n\n";
  for (const Row* row : tenon::op::kRows) file << struct_of(*row);
  file << "\n}  // namespace tenon::op\n\n// X(layer_norm, LayerNorm) of each op, in the table's order.\n#define "
          "TENON_FOR_EACH_OP(X)";
  for (const Row* row : tenon::op::kRows) file << " \\\n  X(" << row->name << ", " << camel(row->name) << ")";
  file << "\n";
  return file.flush() ? 0 : 1;
}
