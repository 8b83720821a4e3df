// The same object's variables in two places, by the structure of their names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tenon {

// Names as their structure has them: the n-th of the parts of one kind beside each other is n, whatever number it has. "dense_4/
// kernel" and "dense_7/kernel" give "dense#0/kernel" and "dense#1/kernel". By those forms, the names.
std::map<std::string, std::string> by_structure(const std::set<std::string>& names);

// Those behind a first part "X/" that all have in common; none where they have none.
std::set<std::string> without_first_part(const std::set<std::string>& names);

}  // namespace tenon
