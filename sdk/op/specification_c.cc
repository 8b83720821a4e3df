// tenon/op/spec.h: the rows as C, in static arrays, and the places of operands and results as constants.
#include <algorithm>

#include "op/specification.h"
#include "op/specification_names.h"
#include "tenon/op/signature.h"

namespace tenon::op {
namespace {

constexpr const char* kHead =
    R"(/* The specification of the ops in C11, written from tenon/op/table.h: their rows, and the places of their operands and
 * results. Words are explained in op-specification.md.
 *
 * The numbers of TENON_OP_CONV and its like are those of one SDK: no graph has them, and no file may. Places and attributes
 * of an op are the contract of its version and stay.
 */
#ifndef TENON_OP_SPEC_H
#define TENON_OP_SPEC_H

)"
    "#include \"tenon/abi/op.h\"\n\n";

constexpr const char* kTypes =
    R"(#define TENON_OP_OPTIONAL 1u /* may be absent */
#define TENON_OP_VARIADIC 2u /* stands for one or more */

typedef struct tenon_op_operand {
  const char* name;
  uint32_t dtypes; /* bit d: tenon_dtype d */
  uint32_t flags;  /* TENON_OP_OPTIONAL, TENON_OP_VARIADIC */
} tenon_op_operand;

typedef struct tenon_op_attribute {
  const char* name;
  int32_t type;            /* tenon_attr_type */
  uint32_t flags;          /* TENON_OP_OPTIONAL: absent means what follows */
  const char* enumeration; /* of an enum, its type in tenon/abi/op.h; else NULL */
  int64_t i64;             /* of an absent I64, BOOL, DTYPE or ENUM; of a LIST the number for every axis */
  double f64;              /* of an absent F64 */
  int32_t empty;           /* 1: an absent LIST is the empty one */
} tenon_op_attribute;

typedef struct tenon_op_result {
  const char* name;
  uint32_t flags; /* TENON_OP_OPTIONAL */
} tenon_op_result;

typedef struct tenon_op_row {
  const char* name;
  uint32_t version;
  uint32_t level; /* of tenon-conform that lacks it; 0: a composite */
  const char* category;
  const char* meaning;
  const char* units; /* how the nodes of several units become one */
  const tenon_op_operand* operands;
  uint32_t n_operands;
  const tenon_op_attribute* attributes;
  uint32_t n_attributes;
  const tenon_op_result* results;
  uint32_t n_results;
} tenon_op_row;

)";

constexpr const char* kTail =
    R"(/* The row of an op of `size` letters; NULL: none of Tenon's. */
static inline const tenon_op_row* tenon_op_find(const char* name, uint64_t size) {
  for (uint32_t i = 0; i < TENON_OP_COUNT; ++i) {
    const char* own = tenon_op_rows[i].name;
    uint64_t at = 0;
    while (at < size && own[at] && own[at] == name[at]) ++at;
    if (at == size && !own[at]) return &tenon_op_rows[i];
  }
  return 0;
}

#endif
)";

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

// "enum { TENON_OP_CONV_X = 0, TENON_OP_CONV_W = 1 };"
template <class Items>
std::string places(const std::string& prefix, const Items& items) {
  if (items.empty()) return "";
  std::string out = "enum {";
  for (size_t i = 0; i < items.size(); ++i)
    out += std::string(i ? "," : "") + " " + prefix + upper(items[i].name) + " = " + std::to_string(i);
  return out + " };\n";
}

std::string dtype_bits(char dtypes) {
  std::string out, texts = dtypes_text(dtypes) + " ";
  for (size_t at = 0, end; (end = texts.find(' ', at)) != std::string::npos; at = end + 1)
    out += (out.empty() ? "1u << TENON_" : " | 1u << TENON_") + upper(std::string_view(texts).substr(at, end - at));
  return out;
}

std::string flags_of(bool optional, bool variadic) {
  return optional ? "TENON_OP_OPTIONAL" : variadic ? "TENON_OP_VARIADIC" : "0";
}

std::string item(const Signature::Operand& o) {
  return quoted(o.name) + ", " + dtype_bits(o.dtypes) + ", " + flags_of(o.optional, o.variadic);
}

std::string item(const Signature::Result& r) { return quoted(r.name) + ", " + flags_of(r.optional, false); }

std::string item(const Signature::Attribute& a) {
  std::string number = "0", real = "0";
  if (a.type == "f64" && !a.required) real = a.missing;
  if (a.type == "bool") number = a.missing == "true" ? "1" : "0";
  if ((a.type == "i64" || a.type == "enum" || a.type == "list") && !a.missing.empty()) number = a.missing;
  if (number == "-9223372036854775808") number = "INT64_MIN";
  const bool empty = a.type == "list" && !a.required && a.missing.empty();
  const std::string enumeration = a.enumeration.empty() ? "0" : quoted(c_enumeration(a.enumeration));
  return quoted(a.name) + ", " + attribute_type(a.type) + ", " + flags_of(!a.required, false) + ", " + enumeration +
         ", " + number + ", " + real + ", " + (empty ? "1" : "0");
}

template <class Items>
std::string array(const char* type, const std::string& name, const Items& items) {
  if (items.empty()) return "";
  std::string out = "static const " + std::string(type) + " " + name + "[] = {\n";
  for (const auto& i : items) out += "    {" + item(i) + "},\n";
  return out + "};\n";
}

template <class Items>
std::string reference(const std::string& name, const Items& items) {
  return items.empty() ? "0, 0" : name + ", " + std::to_string(items.size());
}

std::string arrays_of(const Row& row, const Signature& s) {
  const std::string name = "tenon_op_" + std::string(row.name);
  return array("tenon_op_operand", name + "_operands", s.operands) +
         array("tenon_op_attribute", name + "_attributes", s.attributes) +
         array("tenon_op_result", name + "_results", s.results);
}

std::string row_of(const Row& row, const Signature& s) {
  const std::string name = "tenon_op_" + std::string(row.name);
  return "    {" + quoted(row.name) + ", 1, " + std::to_string(static_cast<int>(row.level)) + ", " +
         quoted(category_text(row.category)) + ",\n     " + quoted(row.doc) + ",\n     " +
         quoted(units_text(row.units)) + ",\n     " + reference(name + "_operands", s.operands) + ", " +
         reference(name + "_attributes", s.attributes) + ", " + reference(name + "_results", s.results) + "},\n";
}

}  // namespace

std::string c_header() {
  std::string numbers = "/* Which row of tenon_op_rows. */\nenum tenon_op {\n", constants, arrays, rows;
  for (const Row* row : kRows) {
    const Signature s = parse(row->signature);
    const std::string prefix = "TENON_OP_" + upper(row->name);
    numbers += "  " + prefix + ",\n";
    constants += places(prefix + "_", s.operands) + places(prefix + "_OUT_", s.results);
    arrays += arrays_of(*row, s);
    rows += row_of(*row, s);
  }
  return std::string(kHead) + numbers +
         "  TENON_OP_COUNT\n};\n\n/* Places of operands, and behind OUT of results. */\n" + constants + "\n" + kTypes +
         arrays + "\nstatic const tenon_op_row tenon_op_rows[TENON_OP_COUNT] = {\n" + rows + "};\n\n" + kTail;
}

}  // namespace tenon::op
