// The name of a class, for messages and for names that are made of it.
#pragma once

#include <string>
#include <typeinfo>

namespace tenon {

// "EarlyStopping": without namespaces; template arguments stay.
std::string class_name(const std::type_info& type);

}  // namespace tenon
