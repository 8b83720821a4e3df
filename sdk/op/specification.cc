#include "op/specification.h"

#include <algorithm>

#include "op/specification_names.h"
#include "tenon/op/enumerations.h"
#include "tenon/op/signature.h"

namespace tenon::op {
namespace {

using Cells = std::vector<std::string>;

// A table of Markdown whose columns are as wide as what stands in them; the first row is the head. The last column is not
// filled up.
std::string table_of(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(rows[0].size(), 1);
  for (const Cells& row : rows)
    for (size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  const auto line = [&](const Cells& row, char fill) {
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t width = i + 1 < row.size() ? widths[i] : 0;
      const size_t missing = width > row[i].size() ? width - row[i].size() : 0;
      out += "| " + row[i] + std::string(missing, fill) + " ";
    }
    out += "|\n";
  };
  line(rows[0], ' ');
  line(Cells(rows[0].size(), "-"), '-');
  for (size_t i = 1; i < rows.size(); ++i) line(rows[i], ' ');
  return out;
}

std::string operand_table(const Signature& s) {
  if (s.operands.empty()) return "";
  std::vector<Cells> rows = {{"at", "operand", "dtypes"}};
  for (size_t i = 0; i < s.operands.size(); ++i) {
    const Signature::Operand& o = s.operands[i];
    const char* how = o.variadic ? ", one or more of it" : o.optional ? ", may be absent" : "";
    rows.push_back({std::to_string(i), std::string(o.name), dtypes_text(o.dtypes) + how});
  }
  return table_of(rows) + "\n";
}

std::string absence(const Signature::Attribute& a) {
  if (a.required) return "is always there";
  if (a.type == "list") return a.missing.empty() ? "the empty list" : std::string(a.missing) + " for every axis";
  if (a.type == "dtype") return "that of the operands";
  const Enumeration* e = enumeration(a.enumeration);
  std::string text(a.missing);
  if (e) text += " (" + std::string(e->text(std::stoll(text))) + ")";
  return text;
}

std::string attribute_table(const Signature& s) {
  if (s.attributes.empty()) return "";
  std::vector<Cells> rows = {{"attribute", "encoding", "absent means"}};
  for (const Signature::Attribute& a : s.attributes) {
    std::string encoding = attribute_type(a.type);
    if (!a.enumeration.empty()) encoding += " of " + c_enumeration(a.enumeration);
    rows.push_back({std::string(a.name), encoding, absence(a)});
  }
  return table_of(rows) + "\n";
}

std::string result_table(const Signature& s) {
  std::vector<Cells> rows = {{"at", "result"}};
  for (size_t i = 0; i < s.results.size(); ++i)
    rows.push_back(
        {std::to_string(i), std::string(s.results[i].name) + (s.results[i].optional ? ", may be absent" : "")});
  return table_of(rows) + "\n";
}

std::string level_text(Level level) {
  if (level == Level::kComposite) return "composite";
  return "primitive of level " + std::to_string(static_cast<int>(level));
}

std::string line_of(const Enumeration& e) {
  std::string out = "- `" + c_enumeration(e.name) + "`";
  if (c_enumeration(e.name) != "tenon_" + std::string(e.name)) out += " of `" + std::string(e.name) + "`";
  out += ":";
  for (size_t i = 0; i < e.values.size() && !e.values[i].empty(); ++i)
    out += (i ? ", " : " ") + std::to_string(static_cast<size_t>(e.first) + i) + " " + std::string(e.values[i]);
  return out + "\n";
}

constexpr const char* kIntroduction =
    "# Specification of the ops\n\n"
    "Written from the table of ops, `tenon/op/table.h`; `tenon/op/spec.h` has the same in C, `tenon-conform ops NAME` "
    "prints\n"
    "one. All ops are of version 1. A backend takes an op whole, or refuses it; of a composite it may answer "
    "DECOMPOSE, and\n"
    "primitives of the same meaning come in its place.\n\n"
    "- **constant** is no node of a graph that a backend gets: it is a value, and stands in `constants`.\n"
    "- **Level.** The level of `tenon-conform` that a backend without this primitive does not reach. A composite costs "
    "none.\n"
    "- **Operands and results** have places; one that is absent is TENON_NONE in `ids`, or behind the last one that is "
    "there.\n"
    "- **Dtypes.** Operands of the class of the first have its dtype, where the meaning says nothing else; indices, "
    "seeds and\n"
    "  labels have their own. Sums of bf16 and f16 are kept in f32 and rounded once.\n"
    "- **Shapes.** Elementwise operands have one shape; rank 0 stands beside any. Nothing else broadcasts.\n"
    "- **Attributes** that have a default may be absent and then mean it. One that is not listed means something that "
    "its\n"
    "  reader does not know, unless its name begins with `tenon.`, a hint: refuse the node.\n"
    "- **Signature**, the line that stands apart: operands, `;` attributes, `->` results. Classes of dtypes: F floats, "
    "I i32\n"
    "  and i64, N both, B bool, A all, M all but u8; `[x]` may be absent, `x:A..` is one or more, `=` says what "
    "absence "
    "means.\n"
    "- **Results** have the dtype of the operand that they are made of; but `compare` gives bool, `argmax`, "
    "`replica_id` and "
    "the\n"
    "  places of `sort` i32, `random` f32, `constant` and `iota` what `dtype` says, `cast` what `to` says, products "
    "what `out` "
    "says.\n"
    "  The rule of dtypes and shapes of each is in `libtenon_sdk_op.a` (`tenon/op/infer.h`).\n"
    "- **Units.** How nodes that several units of one device have become one node; of interest to a device of many "
    "units.\n";

}  // namespace

std::string section_of(const Row& row) {
  const Signature s = parse(row.signature);
  std::string out = "## " + std::string(row.name) + "\n\n" + level_text(row.level) + ", " +
                    category_text(row.category) + ", results " + values_text(row.values) + "\n\n    " +
                    std::string(row.signature) + "\n\n" + std::string(row.doc) + "\n\n";
  out += operand_table(s) + attribute_table(s) + result_table(s);
  return out + "Units: " + units_text(row.units) + ".\n";
}

std::string enumerations_of(const Row& row) {
  std::string out;
  for (const Signature::Attribute& a : parse(row.signature).attributes)
    if (const Enumeration* e = enumeration(a.enumeration)) out += line_of(*e);
  return out;
}

std::string document() {
  std::string out = kIntroduction;
  for (const Row* row : kRows) out += "\n" + section_of(*row);
  out += "\n## Enumerations\n\n";
  for (const Enumeration& e : kEnumerations) out += line_of(e);
  return out;
}

std::string promise() {
  std::string out;
  for (const Row* row : kRows)
    out += "op " + std::string(row->name) + " 1 " + (row->level == Level::kComposite ? "composite " : "primitive ") +
           std::string(row->signature) + "\n";
  for (const Enumeration& e : kEnumerations) {
    out += "enum " + std::string(e.name) + " " + std::to_string(e.first);
    for (const std::string_view value : e.values)
      if (!value.empty()) out += " " + std::string(value);
    out += "\n";
  }
  return out;
}

}  // namespace tenon::op
