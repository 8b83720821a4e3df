#include "tenon/params.h"

#include "base/number.h"
#include "base/strings.h"

namespace tenon {
namespace {

template <class Map>
std::vector<std::string_view> keys(const Map& map) {
  std::vector<std::string_view> out;
  for (const auto& entry : map) out.push_back(entry.first);
  return out;
}

const Params::Value& find(const std::map<std::string, Params::Value>& values, std::string_view name) {
  const auto it = values.find(std::string(name));
  if (it == values.end()) fail("params has no '", name, "'; it has: ", join(keys(values)));
  return it->second;
}

template <class T, class V>
T converted(V value, std::string_view name) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, V>)
    if (!fits<T>(static_cast<double>(value)))
      fail("params '", name, "' is ", value, ", expected a number of ", sizeof(T) * 8, " bits");
  return static_cast<T>(value);
}

template <class T>
T number(const std::map<std::string, Params::Value>& values, std::string_view name) {
  const Params::Value& v = find(values, name);
  if (const auto* i = std::get_if<int64_t>(&v)) return converted<T>(*i, name);
  if (const auto* d = std::get_if<double>(&v)) return converted<T>(*d, name);
  if (const auto* b = std::get_if<bool>(&v)) return static_cast<T>(*b);
  fail("params '", name, "' is a string, expected a number");
}

}  // namespace

template <>
int64_t Params::get<int64_t>(std::string_view name) const {
  return number<int64_t>(values_, name);
}
template <>
int Params::get<int>(std::string_view name) const {
  return number<int>(values_, name);
}
template <>
double Params::get<double>(std::string_view name) const {
  return number<double>(values_, name);
}
template <>
float Params::get<float>(std::string_view name) const {
  return number<float>(values_, name);
}
template <>
bool Params::get<bool>(std::string_view name) const {
  return number<int64_t>(values_, name) != 0;
}
template <>
std::string Params::get<std::string>(std::string_view name) const {
  const Value& v = find(values_, name);
  if (const auto* s = std::get_if<std::string>(&v)) return *s;
  fail("params '", name, "' is a number, expected a string");
}

}  // namespace tenon
