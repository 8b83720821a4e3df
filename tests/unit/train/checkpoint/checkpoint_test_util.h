// A small state that differs at every step, and a directory that goes away.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/model_directory.h"

namespace tenon::testing {

class Directory {
 public:
  Directory() {
    std::string pattern = base() + "tenon-ckpt-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  // In memory where that can be had: these tests make tens of thousands of files and sync them.
  static std::string base() {
    const bool choose = ::getenv("TEST_TMPDIR") == nullptr && std::filesystem::is_directory("/dev/shm");
    return choose ? "/dev/shm/" : ::testing::TempDir();
  }

  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

inline std::vector<float> kernel_at(int64_t step) {
  std::vector<float> out;
  for (int i = 0; i < 6; ++i) out.push_back(static_cast<float>(step) + 0.25f * static_cast<float>(i));
  return out;
}

inline Status fill_state(BundleWriter& out, int64_t step) {
  TENON_TRY(out.add("dense/kernel", {DType::kF32, {3, 2}}, bytes_of(kernel_at(step))));
  return out.add_string("tenon/input", "position " + std::to_string(step));
}

inline Result<std::string> save_state(CheckpointManager& manager, int64_t step) {
  return manager.save(step, [step](BundleWriter& out) { return fill_state(out, step); });
}

// "" when the checkpoint holds exactly the state of `step`.
inline std::string difference(const std::string& prefix, int64_t step) {
  Result<BundleReader> reader = BundleReader::open(prefix);
  if (!reader.ok()) return reader.status().message();
  std::vector<float> kernel(6);
  if (Status s = reader->read("dense/kernel", std::as_writable_bytes(std::span(kernel))); !s.ok()) return s.message();
  if (kernel != kernel_at(step)) return "other values";
  Result<std::vector<std::string>> input = reader->read_strings("tenon/input");
  if (!input.ok()) return input.status().message();
  if (*input != std::vector<std::string>{"position " + std::to_string(step)}) return "other input position";
  Result<int64_t> global_step = reader->read_scalar("global_step");
  if (!global_step.ok()) return global_step.status().message();
  return *global_step == step ? "" : "other global_step";
}

}  // namespace tenon::testing
