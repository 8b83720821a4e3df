// tf.train.Example to features.
#include <algorithm>
#include <utility>

#include "base/array_dtype.h"
#include "base/strings.h"
#include "tenon/element_maps.h"
#include "tenon/example.h"

namespace tenon {
namespace {

std::string_view kind_text(Feature::Kind kind) {
  switch (kind) {
    case Feature::Kind::kBytes:
      return "byte strings";
    case Feature::Kind::kFloat:
      return "floats";
    case Feature::Kind::kInt64:
      return "integers";
    default:
      return "values";
  }
}

// The shape of so many numbers; -1 where no number of them fits.
Shape shape_for(const ExampleFeature& f, const std::string& name, size_t count, std::string_view what) {
  std::vector<int64_t> dims = f.shape;
  int64_t known = 1;
  for (const int64_t dim : dims) known *= dim < 0 ? 1 : dim;
  const auto open = std::find(dims.begin(), dims.end(), -1);
  const auto found = static_cast<int64_t>(count);
  const bool fits = open == dims.end() ? found == known : known > 0 && found % known == 0;
  if (!fits)
    fail("feature '", name, "': expected ", known, open == dims.end() ? " " : " times some ", what, ", found ", found);
  if (open != dims.end()) *open = found / known;
  return Shape(dims);
}

template <class T>
Array numbers(const Feature& feature, const ExampleFeature& f, const std::string& name, std::string_view what) {
  const Shape shape = shape_for(f, name, feature.size(), what);
  std::vector<T> values(feature.size());
  feature.copy(values.data());
  if constexpr (std::is_integral_v<T>)
    for (T& value : values) value -= f.offset;
  return Array(values, shape);
}

Array missing(const ExampleFeature& f, const std::string& name, const Example& example) {
  if (!f.fallback) {
    std::vector<std::string> names;
    for (const Example::Named& other : example.features()) names.emplace_back(other.name);
    fail("the record has no feature '", name, "'; it has: ", abbreviated(join_first(names, 20)));
  }
  std::vector<int64_t> dims = f.shape;
  std::replace(dims.begin(), dims.end(), int64_t{-1}, int64_t{0});
  Array all({DType::kF64, Shape(dims)});
  std::fill_n(reinterpret_cast<double*>(all.bytes().data()), all.elements(), *f.fallback);
  if (is_float(f.dtype)) return as_dtype(all, f.dtype);
  return as_dtype(Array(all.to<int64_t>(), all.shape()), f.dtype);
}

Array value_of(const Feature& feature, const ExampleFeature& f, const std::string& name) {
  switch (feature.kind()) {
    case Feature::Kind::kBytes: {
      if (f.dtype != DType::kU8 || feature.size() != 1) break;
      const std::string_view bytes = feature.bytes();
      Array text = text_array(bytes);
      return f.shape.empty()
                 ? text
                 : Array({DType::kU8, shape_for(f, name, bytes.size(), "bytes")}, std::move(text).take_bytes());
    }
    case Feature::Kind::kFloat:
      if (!is_float(f.dtype)) break;
      return as_dtype(numbers<float>(feature, f, name, "floats"), f.dtype);
    case Feature::Kind::kInt64:
      return as_dtype(numbers<int64_t>(feature, f, name, "integers"), f.dtype);
    default:
      break;
  }
  fail("feature '", name, "': expected ",
       f.dtype == DType::kU8 ? "one byte string"
       : is_float(f.dtype)   ? "numbers"
                             : "integers",
       ", found ", feature.size(), " ", kind_text(feature.kind()));
}

class ParseExample : public ElementOp {
 public:
  ParseExample(std::map<std::string, ExampleFeature> features, std::string record)
      : features_(std::move(features)), record_(std::move(record)) {
    if (features_.empty()) fail("parse_example: there are no features");
    for (auto& [name, f] : features_) check_feature(name, f);
  }
  std::string name() const override {
    std::string out = cat("parse_example(", record_);
    for (const auto& [name, f] : features_) {
      out += cat(",", name, ":", f.name, ":", dtype_name(f.dtype), "[", join(f.shape), "]-", f.offset);
      if (f.fallback) out += cat("|", *f.fallback);
    }
    return out + ")";
  }
  Element apply(Element element, const Sample&) const override {
    const auto record = element.find(record_);
    if (record == element.end()) fail("parse_example: the element has no feature '", record_, "'");
    const Array bytes = std::move(record->second);
    element.erase(record);
    thread_local Example example;
    check(example.parse(text_of(bytes)));
    for (const auto& [name, f] : features_) {
      const Feature* found = example.find(f.name);
      const bool there = found && (found->size() > 0 || (!f.fallback && found->kind() != Feature::Kind::kNone));
      Array value = there ? value_of(*found, f, f.name) : missing(f, f.name, example);
      if (!element.emplace(name, std::move(value)).second)
        fail("parse_example: the element has a feature '", name, "' already");
    }
    return element;
  }

 private:
  static void check_feature(const std::string& name, ExampleFeature& f) {
    if (f.name.empty()) f.name = name;
    if (dtype_bytes(f.dtype) <= 0) fail("parse_example: feature '", name, "' has no dtype");
    if (std::count(f.shape.begin(), f.shape.end(), -1) > 1)
      fail("parse_example: feature '", name, "' has several axes of size -1, expected one at most");
    for (const int64_t dim : f.shape)
      if (dim < -1) fail("parse_example: feature '", name, "' has an axis of size ", dim);
    if (f.offset != 0 && f.dtype == DType::kU8 && f.shape.empty())
      fail("parse_example: feature '", name, "' is a byte string, from which no offset is subtracted");
  }

  std::map<std::string, ExampleFeature> features_;
  std::string record_;
};

}  // namespace

ElementMap parse_example(std::map<std::string, ExampleFeature> features, std::string record) {
  return ElementMap(std::make_shared<const ParseExample>(std::move(features), std::move(record)));
}

}  // namespace tenon
