// The lookup of a model or of a benchmark case by name.
#pragma once

#include <string_view>

#include "tenon/applications.h"

namespace tenon::models {

// The entry of that name; nullptr: there is none.
template <class Table>
auto* find(const Table& table, std::string_view name) {
  for (const auto& entry : table)
    if (name == entry.name) return &entry;
  return static_cast<decltype(&table[0])>(nullptr);
}

// In the own entries, then in those of the catalogue, which Keras's names find, too.
template <class Table>
auto* find_in(const Table& own, const Table& catalogue, std::string_view name) {
  if (auto* found = find(own, name)) return found;
  for (const applications::Application& a : applications::all())
    if (name == a.name) name = a.id;
  return find(catalogue, name);
}

}  // namespace tenon::models
