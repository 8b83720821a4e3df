// Nothing of the file is believed.
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "export/model_file.h"
#include "exported_model.pb.h"

namespace tenon {
namespace {

constexpr int kMostPixels = 16384;
constexpr int64_t kMostNumber = int64_t{1} << 40;  // times a number of rows it is still one

Result<PerRows> number_of(const exported::PerRows& from, const std::string& what) {
  const PerRows out{from.base(), from.each()};
  if (std::max(std::abs(out.base), std::abs(out.each)) <= kMostNumber && out.base != INT64_MIN) return out;
  return invalid(what, ": ", out.base, " + ", out.each, " * rows, expected numbers of up to 2^40");
}

bool is_dtype(int number) { return number >= 1 && number <= 255 && dtype_bytes(static_cast<DType>(number)) > 0; }

Result<PortableValue> value_of(const exported::Value& from, const std::string& what) {
  if (!is_dtype(from.dtype())) return invalid(what, ": there is no dtype ", from.dtype());
  if (from.dims_size() > kMaxRank)
    return invalid(what, ": ", from.dims_size(), " dimensions, expected up to ", kMaxRank);
  PortableValue out{static_cast<DType>(from.dtype()), {}};
  for (const exported::PerRows& dim : from.dims()) {
    TENON_ASSIGN(const PerRows size, number_of(dim, what));
    if (size.base < 0 || size.each < 0)
      return invalid(what, ": a dimension of ", size.base, " + ", size.each, " * rows");
    out.dims.push_back(size);
  }
  return out;
}

// Attributes beyond 2^40 are none that depend on the number of rows: limits of slices, seeds.
Status take_number(const exported::PerRows& from, const std::string& what, std::vector<int64_t>& base,
                   std::vector<int64_t>& each) {
  if (from.each() != 0) TENON_TRY(number_of(from, what).status());
  base.push_back(from.base());
  each.push_back(from.each());
  return {};
}

Result<PortableAttr> attr_of(const exported::Attribute& from, const std::string& node) {
  const std::string what = cat(node, ": attribute '", abbreviated(from.name()), "'");
  PortableAttr out{from.name(), {}, {}};
  std::vector<int64_t> base, each;
  switch (from.value_case()) {
    case exported::Attribute::kInteger:
      TENON_TRY(take_number(from.integer(), what, base, each));
      out.value = base[0];
      break;
    case exported::Attribute::kReal:
      out.value = from.real();
      break;
    case exported::Attribute::kBoolean:
      out.value = from.boolean();
      break;
    case exported::Attribute::kDtype:
      if (from.dtype() != 0 && !is_dtype(from.dtype())) return invalid(what, ": there is no dtype ", from.dtype());
      out.value = static_cast<DType>(from.dtype());
      break;
    case exported::Attribute::kEnumerator:
      out.value = Enum{from.enumerator()};
      break;
    case exported::Attribute::kData:
      out.value = from.data();
      break;
    case exported::Attribute::kList:
      for (const exported::PerRows& number : from.list().values()) TENON_TRY(take_number(number, what, base, each));
      out.value = base;
      break;
    default:
      return invalid(what, " has no value");
  }
  if (std::any_of(each.begin(), each.end(), [](int64_t n) { return n != 0; })) out.each = std::move(each);
  return out;
}

Result<PortableNode> node_of(const exported::Node& from) {
  const std::string what = cat(abbreviated(from.op()), " '", abbreviated(from.name()), "'");
  PortableNode out{from.op(), from.name(), from.version(), {}, {}, {}};
  out.operands.assign(from.operands().begin(), from.operands().end());
  out.results.assign(from.results().begin(), from.results().end());
  if (out.name.empty()) return invalid("a node of op '", abbreviated(out.op), "' has no name");
  for (const exported::Attribute& attribute : from.attributes()) {
    TENON_ASSIGN(PortableAttr attr, attr_of(attribute, what));
    out.attrs.push_back(std::move(attr));
  }
  return out;
}

Result<PortableGraph> graph_of(const exported::Graph& from) {
  PortableGraph out;
  for (int i = 0; i < from.values_size(); ++i) {
    TENON_ASSIGN(PortableValue value, value_of(from.values(i), cat("value ", i)));
    out.values.push_back(std::move(value));
  }
  for (const exported::Named& input : from.inputs()) {
    if (input.name().empty()) return invalid("an input has no name");
    out.inputs.push_back({input.name(), input.value(), input.variable()});
  }
  for (const exported::Node& node : from.nodes()) {
    TENON_ASSIGN(PortableNode one, node_of(node));
    out.nodes.push_back(std::move(one));
  }
  for (const exported::Named& result : from.results()) out.results.push_back({result.name(), result.value()});
  TENON_TRY(out.verify());
  return out;
}

// What a graph's value is of an example: without the rows, which its first dimension is.
bool is_row(const PortableValue& value, const Type& example) {
  const auto& dims = value.dims;
  return value.dtype == example.dtype && !dims.empty() && dims[0] == PerRows{0, 1} &&
         std::equal(dims.begin() + 1, dims.end(), example.shape.dims().begin(), example.shape.dims().end(),
                    [](const PerRows& dim, int64_t size) {
                      return dim == PerRows{size, 0};
                    });
}

class Signatures {
 public:
  Signatures(const PortableGraph& graph, bool images) : graph_(graph), images_(images) {}

  Result<ServingSignature> read(const exported::Signature& from) {
    const std::string what = cat("signature '", abbreviated(from.key()), "'");
    if (from.key().empty() || !keys_.insert(from.key()).second)
      return invalid(what, from.key().empty() ? " has no name" : " stands twice");
    ServingSignature out{from.key(), from.method_name(), {}, {}};
    TENON_TRY(read_values(from.inputs(), what, true, out.inputs));
    TENON_TRY(read_values(from.outputs(), what, false, out.outputs));
    if (out.outputs.empty()) return invalid(what, " has no outputs");
    return out;
  }

 private:
  template <class Values>
  Status read_values(const Values& from, const std::string& what, bool input, std::vector<ServingValue>& out) const {
    std::set<std::string_view> names;
    for (const exported::ServingValue& value : from) {
      const std::string who = cat(what, ": ", input ? "input" : "output", " '", abbreviated(value.name()), "'");
      if (value.name().empty() || !names.insert(value.name()).second) return invalid(who, " has no name of its own");
      TENON_ASSIGN(ServingValue one, value_of(value, who, input));
      out.push_back(std::move(one));
    }
    return {};
  }

  Result<ServingValue> value_of(const exported::ServingValue& from, const std::string& who, bool input) const {
    using Kind = ServingValue::Kind;
    TENON_ASSIGN(const PortableValue type, tenon::value_of(from.type(), who));
    const Kind kind = from.kind() == 0 ? Kind::kTensor : from.kind() == 1 ? Kind::kImage : Kind::kLabel;
    if (from.kind() < 0 || from.kind() > 2 || kind == (input ? Kind::kLabel : Kind::kImage) ||
        (kind == Kind::kImage && !images_))
      return invalid(who, " is of kind ", from.kind());
    ServingValue out{from.name(), kind, from.tensor(), type.at(0)};
    const int place = find(from.tensor(), input);
    if (place < 0) return invalid(who, ": the graph has no '", abbreviated(from.tensor()), "'");
    if (!is_row(graph_.values[static_cast<size_t>(place)], out.type))
      return invalid(who, " is ", out.type.str(), " of an example, which '", from.tensor(), "' is not");
    if (kind == Kind::kLabel && !is_integer(out.type.dtype)) return invalid(who, " names classes by ", out.type.str());
    return out;
  }

  int find(const std::string& name, bool input) const {
    for (const PortableInput& i : graph_.inputs)
      if (input && !i.variable && i.name == name) return i.value;
    for (const PortableResult& r : graph_.results)
      if (!input && r.name == name) return r.value;
    return -1;
  }

  const PortableGraph& graph_;
  bool images_;
  std::set<std::string> keys_;
};

Result<ExportedImages> images_of(const exported::Images& from) {
  const auto side = [](int n) { return n >= 1 && n <= kMostPixels; };
  if (!side(from.height()) || !side(from.width()) ||
      (from.channels() != 1 && from.channels() != 3 && from.channels() != 4))
    return invalid("images of ", from.height(), " x ", from.width(), " x ", from.channels());
  if (from.range() < 0 || from.range() > 1 || from.resize() < 0 || from.resize() > 2 || from.alpha() < 0 ||
      from.alpha() > 2)
    return invalid("images are read in a way that is not known");
  const auto byte = [&](int shift) { return static_cast<uint8_t>(from.background() >> shift & 255); };
  return ExportedImages{from.feature(),
                        from.height(),
                        from.width(),
                        from.channels(),
                        static_cast<PixelRange>(from.range()),
                        static_cast<ResizeKind>(from.resize()),
                        static_cast<Alpha>(from.alpha()),
                        {byte(16), byte(8), byte(0)}};
}

}  // namespace

Result<ModelFile> parse_model_file(std::string_view bytes) {
  exported::Model from;
  if (bytes.size() > INT32_MAX || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid("is no exported model");
  if (from.format() != kModelFormat)
    return Status(Code::kUnsupported, cat("is of format ", from.format(), ", expected ", kModelFormat));
  ModelFile out;
  TENON_ASSIGN(out.graph, graph_of(from.graph()));
  if (from.has_images()) {
    TENON_ASSIGN(out.images, images_of(from.images()));
  }
  Signatures signatures(out.graph, from.has_images());
  for (const exported::Signature& signature : from.signatures()) {
    TENON_ASSIGN(ServingSignature one, signatures.read(signature));
    out.signatures.push_back(std::move(one));
  }
  if (out.signatures.empty()) return invalid("has no signatures");
  return out;
}

}  // namespace tenon
