// The name of a class, for messages and for names that are made of it.
#pragma once

#include <string>
#include <string_view>
#include <typeinfo>

namespace tenon {

// "EarlyStopping": without namespaces; template arguments stay.
std::string class_name(const std::type_info& type);

// As Keras does it: "Conv2DTranspose" -> "conv2d_transpose", "ReLU" -> "re_lu".
std::string snake_case(std::string_view name);

}  // namespace tenon
