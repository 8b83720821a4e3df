#include "step/variables/name_structure.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/strings.h"

namespace tenon {
namespace {

struct Part {
  std::string kind;
  int64_t number;  // -1: none
};

// "dense_4" is number 4 of "dense"; what is too long to be a number is none.
Part part_of(std::string_view text) {
  size_t digits = text.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1]))) --digits;
  int64_t number = 0;
  const bool numbered = digits > 1 && digits < text.size() && text[digits - 1] == '_';
  if (!numbered || std::from_chars(text.data() + digits, text.data() + text.size(), number).ec != std::errc())
    return {std::string(text), -1};
  return {std::string(text.substr(0, digits - 1)), number};
}

using Numbers = std::map<std::string, std::set<int64_t>>;  // of the parts beside each other, by "OUTER/KIND"

// Does it for each part of a name, with what is before it.
template <class Work>
void each_part(const std::string& name, const Work& work) {
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    work(name.substr(0, begin), part_of(std::string_view(name).substr(begin, end - begin)));
    begin = end + 1;
  }
}

}  // namespace

std::map<std::string, std::string> by_structure(const std::set<std::string>& names) {
  Numbers numbers;
  for (const std::string& name : names)
    each_part(name,
              [&](const std::string& outer, const Part& part) { numbers[outer + part.kind].insert(part.number); });
  std::map<std::string, std::string> out;
  for (const std::string& name : names) {
    std::string form;
    each_part(name, [&](const std::string& outer, const Part& part) {
      const std::set<int64_t>& beside = numbers[outer + part.kind];
      append(form, cat("/", part.kind, "#", std::distance(beside.begin(), beside.find(part.number))));
    });
    out.emplace(form.substr(1), name);
  }
  return out;
}

std::set<std::string> without_first_part(const std::set<std::string>& names) {
  std::set<std::string> out;
  for (const std::string& name : names) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos || name.compare(0, slash, *names.begin(), 0, slash) != 0 ||
        names.begin()->find('/') != slash)
      return {};
    out.insert(name.substr(slash + 1));
  }
  return out;
}

}  // namespace tenon
