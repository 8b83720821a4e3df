// Which build of a program this is: processes of a job run the same one.
#pragma once

#include <string>

namespace tenon {

// What the linker gave it, in hexadecimal digits; "" where it gave it nothing.
std::string program_build();

}  // namespace tenon
