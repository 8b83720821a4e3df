#include "survey/record_fields.h"

#include <algorithm>

#include "output.h"

namespace tenon::runner {
namespace {

const char* kind_name(Feature::Kind kind) {
  switch (kind) {
    case Feature::Kind::kBytes:
      return "bytes";
    case Feature::Kind::kFloat:
      return "float";
    case Feature::Kind::kInt64:
      return "int64";
    case Feature::Kind::kNone:
      break;
  }
  return "empty";
}

std::string shown(const Feature& f) {
  if (f.size() == 0) return "";
  if (f.kind() == Feature::Kind::kFloat) return format("%g", static_cast<double>(f.float32()));
  if (f.kind() == Feature::Kind::kInt64) return std::to_string(f.int64());
  const std::string_view bytes = f.bytes();
  const bool text =
      bytes.size() <= 60 && std::all_of(bytes.begin(), bytes.end(), [](unsigned char c) { return c >= 32 && c < 127; });
  return text ? "'" + std::string(bytes) + "'" : format("<%zu bytes>", bytes.size());
}

}  // namespace

void RecordFields::note(const Feature& f, Field& field) {
  if (field.records++ == 0) field.first = shown(f);
  if (f.kind() != Feature::Kind::kNone) field.kind = f.kind();
  field.least = std::min(field.least, f.size());
  field.most = std::max(field.most, f.size());
  if (f.kind() != Feature::Kind::kInt64 || f.size() != 1) return;
  field.low = std::min(field.low, f.int64());
  field.high = std::max(field.high, f.int64());
}

std::string RecordFields::counts(const Field& f) {
  return f.least == f.most ? std::to_string(f.most) : std::to_string(f.least) + " to " + std::to_string(f.most);
}

void RecordFields::add(const Example& example) {
  for (const Example::Named& f : example.features()) note(f.feature, fields_[std::string(f.name)]);
}

void RecordFields::print() const {
  for (const auto& [name, f] : fields_)
    runner::print(
        "  %-28s %-6s x %-8s in %-10s first %s%s\n", name.c_str(), kind_name(f.kind), counts(f).c_str(),
        with_commas(f.records).c_str(), f.first.c_str(),
        f.low <= f.high ? format(", %ld to %ld", static_cast<long>(f.low), static_cast<long>(f.high)).c_str() : "");
}

std::string RecordFields::json() const {
  std::string fields;
  for (const auto& [name, f] : fields_)
    add_item(fields, Json()
                         .add("name", name)
                         .add("kind", kind_name(f.kind))
                         .add("records", f.records)
                         .add("least", static_cast<int64_t>(f.least))
                         .add("most", static_cast<int64_t>(f.most))
                         .str());
  return json_list(fields);
}

}  // namespace tenon::runner
