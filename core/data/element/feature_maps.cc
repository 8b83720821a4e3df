// Functions of features, one by one.
#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "base/array_dtype.h"
#include "base/strings.h"
#include "tenon/element_maps.h"

namespace tenon {
namespace {

// A function that depends on nothing but the element.
class FeatureOp : public ElementOp {
 public:
  FeatureOp(std::string name, std::function<void(Element&)> fn) : name_(std::move(name)), fn_(std::move(fn)) {}
  std::string name() const override { return name_; }
  Element apply(Element element, const Sample&) const override {
    fn_(element);
    return element;
  }

 private:
  std::string name_;
  std::function<void(Element&)> fn_;
};

ElementMap feature_map(std::string name, std::function<void(Element&)> fn) {
  return ElementMap(std::make_shared<const FeatureOp>(std::move(name), std::move(fn)));
}

Element::iterator feature_of(Element& element, const std::string& name, const char* verb) {
  const auto found = element.find(name);
  if (found != element.end()) return found;
  std::vector<std::string_view> names;
  for (const auto& [other, array] : element) names.push_back(other);
  fail(verb, ": the element has no feature '", name, "'; it has: ", join(names));
}

Array one_hot_of(const Array& labels, const std::string& feature, int64_t depth) {
  std::vector<int64_t> dims = labels.shape().vec();
  dims.push_back(depth);
  Array out({DType::kF32, Shape(dims)});
  auto* to = reinterpret_cast<float*>(out.bytes().data());
  for (const int64_t label : labels.to<int64_t>()) {
    if (label < 0 || label >= depth) fail("one_hot: feature '", feature, "' is ", label, ", expected 0 to ", depth - 1);
    to[label] = 1;
    to += depth;
  }
  return out;
}

template <class T>
Array number_of(std::string_view text, const std::string& feature, DType dtype) {
  const std::string_view digits = trimmed(text);
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    fail("text_to_number: feature '", feature, "' is '", abbreviated(text), "', expected a number of ",
         dtype_name(dtype));
  return Array(value);
}

Array number_of(std::string_view text, const std::string& feature, DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return number_of<int32_t>(text, feature, dtype);
    case DType::kI64:
      return number_of<int64_t>(text, feature, dtype);
    case DType::kF64:
      return number_of<double>(text, feature, dtype);
    default:
      return number_of<float>(text, feature, dtype);
  }
}

}  // namespace

ElementMap one_hot(std::string feature, int64_t depth) {
  if (depth < 1) fail("one_hot: depth is ", depth, ", expected 1 or more");
  std::string name = cat("one_hot(", feature, ",", depth, ")");
  return feature_map(std::move(name), [feature = std::move(feature), depth](Element& element) {
    const auto at = feature_of(element, feature, "one_hot");
    if (is_float(at->second.dtype()))
      fail("one_hot: feature '", feature, "' is ", at->second.type().str(), ", expected integers");
    at->second = one_hot_of(at->second, feature, depth);
  });
}

ElementMap cast_features(std::map<std::string, DType> dtypes) {
  std::string name = "cast_features(";
  for (const auto& [feature, dtype] : dtypes) {
    if (!is_float(dtype) && !is_integer(dtype))
      fail("cast_features: feature '", feature, "' cannot become ", dtype_name(dtype),
           ", expected a float, i32 or i64");
    name += cat(feature, ":", dtype_name(dtype), ",");
  }
  return feature_map(name + ")", [dtypes = std::move(dtypes)](Element& element) {
    for (const auto& [feature, dtype] : dtypes) {
      Array& array = feature_of(element, feature, "cast_features")->second;
      if (is_float(array.dtype()) && !is_float(dtype))
        fail("cast_features: feature '", feature, "' is ", array.type().str(), ", and cannot become ",
             dtype_name(dtype));
      array = as_dtype(array, dtype);
    }
  });
}

ElementMap rename_features(std::map<std::string, std::string> names) {
  std::string name = "rename_features(";
  for (const auto& [from, to] : names) name += cat(from, ":", to, ",");
  return feature_map(name + ")", [names = std::move(names)](Element& element) {
    Element renamed;
    for (const auto& [from, to] : names) feature_of(element, from, "rename_features");
    for (auto& [feature, array] : element) {
      const auto found = names.find(feature);
      const std::string& to = found == names.end() ? feature : found->second;
      if (!renamed.emplace(to, std::move(array)).second)
        fail("rename_features: the element has a feature '", to, "' twice");
    }
    element = std::move(renamed);
  });
}

ElementMap select_features(std::vector<std::string> names) {
  std::string name = cat("select_features(", join(names, ","), ")");
  return feature_map(std::move(name), [names = std::move(names)](Element& element) {
    Element selected;
    for (const std::string& feature : names)
      selected.insert(element.extract(feature_of(element, feature, "select_features")));
    element = std::move(selected);
  });
}

ElementMap drop_features(std::vector<std::string> names) {
  std::string name = cat("drop_features(", join(names, ","), ")");
  return feature_map(std::move(name), [names = std::move(names)](Element& element) {
    for (const std::string& feature : names) element.erase(feature_of(element, feature, "drop_features"));
  });
}

ElementMap subtokens(Subtokenizer words, std::string feature, std::string to, bool ends) {
  std::string name = cat("subtokens(", feature, ",", to, ",", ends, ",", words.fingerprint(), ")");
  return feature_map(std::move(name), [words = std::move(words), feature = std::move(feature), to = std::move(to),
                                       ends](Element& element) {
    thread_local std::vector<int32_t> ids;
    ids.clear();
    check(words.encode(text_of(feature_of(element, feature, "subtokens")->second), ids));
    if (ends) ids.push_back(Subtokenizer::kEos);
    element.insert_or_assign(to, Array(ids));
  });
}

ElementMap text_to_number(std::string feature, DType dtype) {
  if (!is_integer(dtype) && dtype != DType::kF32 && dtype != DType::kF64)
    fail("text_to_number: dtype is ", dtype_name(dtype), ", expected i32, i64, f32 or f64");
  std::string name = cat("text_to_number(", feature, ",", dtype_name(dtype), ")");
  return feature_map(std::move(name), [feature = std::move(feature), dtype](Element& element) {
    Array& array = feature_of(element, feature, "text_to_number")->second;
    array = number_of(text_of(array), feature, dtype);
  });
}

}  // namespace tenon
