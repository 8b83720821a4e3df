// opencl-gpu.so, loaded once a process.
#pragma once

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "conformance/subject.h"

namespace tenon::conformance {

// nullptr: OpenCL has no device here.
inline Subject* opencl() {
  static const std::unique_ptr<Subject> subject = [] {
    try {
      auto made = std::make_unique<Subject>(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/opencl-gpu.so", 1, 2);
      made->device();
      return made;
    } catch (const std::exception&) {
      return std::unique_ptr<Subject>();
    }
  }();
  return subject.get();
}

}  // namespace tenon::conformance
