#include "inspect/short_name.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tenon::runner {
namespace {

std::vector<std::string> components_of(const std::string& name) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t at = 0; (at = name.find('/', begin)) != std::string::npos; begin = at + 1)
    out.push_back(name.substr(begin, at - begin));
  out.push_back(name.substr(begin));
  return out;
}

// Without `count` components from `first` on.
std::string with_gap(const std::vector<std::string>& components, size_t first, size_t count) {
  std::string out;
  for (size_t i = 0; i < components.size(); ++i) {
    if (i > first && i < first + count) continue;
    out += (out.empty() ? "" : "/") + (i == first ? ".." : components[i]);
  }
  return out;
}

// From a word's beginning on, where one begins in the first half of what fits; not from the middle of a character on.
std::string end_of(const std::string& name, size_t width) {
  size_t from = name.size() - (width - 2);
  const size_t word = std::string_view("_./").find(name[from - 1]) != std::string_view::npos
                          ? from - 1
                          : name.find_first_of("_./", from);
  if (word != std::string::npos && name.size() - word - 1 >= (width - 2) / 2) return ".." + name.substr(word + 1);
  while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xC0) == 0x80) ++from;
  return ".." + name.substr(from);
}

}  // namespace

std::string short_name(const std::string& name, size_t width) {
  if (name.size() <= width) return name;
  const std::vector<std::string> components = components_of(name);
  std::string best;
  for (size_t first = 0; first + 1 < components.size(); ++first)
    for (size_t count = 1; first + count < components.size(); ++count) {
      const std::string cut = with_gap(components, first, count);
      if (cut.size() <= width && cut.size() > best.size()) best = cut;
    }
  return best.empty() ? end_of(name, std::max<size_t>(width, 3)) : best;
}

}  // namespace tenon::runner
