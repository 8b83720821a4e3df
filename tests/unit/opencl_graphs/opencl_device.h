// The device that these tests run on.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "conformance/host/subject.h"

namespace tenon::conformance {

inline std::string plugin_path(const char* name) { return std::getenv("TENON_PLUGIN_PATH") + std::string("/") + name; }

// nullptr: OpenCL has no device here. Any other failure is thrown.
inline Subject* opencl() {
  static const std::unique_ptr<Subject> subject = [] {
    try {
      auto made = std::make_unique<Subject>(plugin_path("opencl-gpu.so"), 1, 2);
      made->device();
      return made;
    } catch (const Unavailable&) {
      return std::unique_ptr<Subject>();
    } catch (const Failure& f) {
      throw std::runtime_error(f.text);
    } catch (const Unsupported& u) {
      throw std::runtime_error(u.reason);
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
