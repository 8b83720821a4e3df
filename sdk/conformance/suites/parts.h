// Parts of suites that have files of their own.
#pragma once

#include "conformance/harness.h"

namespace tenon::conformance {

void add_flag_tests(Tests&);      // of the device suite: flags and struct sizes of every entry
void add_tracing_tests(Tests&);   // of the device suite: what a host is told that traces
void add_argument_tests(Tests&);  // of the program suite: buffers that are shared, exchanged, refused

}  // namespace tenon::conformance
