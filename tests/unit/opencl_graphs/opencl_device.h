// The device that these tests run on.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "conformance/subject.h"

namespace tenon::conformance {

inline std::string plugin_path(const char* name) { return std::getenv("TENON_PLUGIN_PATH") + std::string("/") + name; }

// nullptr: OpenCL has no device here.
inline Subject* opencl() {
  static const std::unique_ptr<Subject> subject = [] {
    try {
      auto made = std::make_unique<Subject>(plugin_path("opencl-gpu.so"), 1, 2);
      made->device();
      return made;
    } catch (const std::exception&) {
      return std::unique_ptr<Subject>();
    }
  }();
  return subject.get();
}

class OnOpencl : public testing::Test {
 protected:
  void SetUp() override {
    if (!opencl()) GTEST_SKIP() << "no OpenCL device";
  }
};

}  // namespace tenon::conformance
