// What is kept in the host's cache: programs of a device, built from their text once, and choices of kernels.
#include <signal.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <vector>

#include "device/driver.h"
#include "device/kernel_sources.h"

namespace opencl_gpu {
namespace {

uint64_t hash_of(const std::string& text) {  // FNV-1a, 64 bits
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return h;
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::vector<char> log(bytes + 1);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  return log.data();
}

}  // namespace

std::vector<unsigned char> Driver::cached(const std::string& key) const {
  uint64_t bytes = 0;
  if (!host_.cache_get || host_.cache_get(host_.ctx, key.c_str(), nullptr, &bytes).code != TENON_OK) return {};
  std::vector<unsigned char> data(bytes);
  if (bytes == 0 || host_.cache_get(host_.ctx, key.c_str(), data.data(), &bytes).code != TENON_OK) return {};
  data.resize(std::min<uint64_t>(bytes, data.size()));
  return data;
}

// ---- programs ----

namespace {

// LLVM, which compilers are made of, takes the handlers of signals once, with its first file, and on a signal removes the files that it is
// writing: what it compiles fails. While this lives it may; then the process has its own handlers again.
class KeptHandlers {
 public:
  KeptHandlers() {
    const std::lock_guard lock(mutex_);
    if (users_++ > 0) return;
    for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~KeptHandlers() {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction now {};
      // The process itself goes back to the default once a signal has come.
      if (::sigaction(kSignals[i], nullptr, &now) == 0 && now.sa_handler != before_[i].sa_handler &&
          now.sa_handler != SIG_DFL)
        ::sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  KeptHandlers(const KeptHandlers&) = delete;
  KeptHandlers& operator=(const KeptHandlers&) = delete;

 private:
  static constexpr std::array kSignals{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
  static inline std::mutex mutex_;
  static inline int users_ = 0;
  static inline std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

Program Driver::load(const std::string& key, const std::string& options) {
  if (!keeps_programs_) return nullptr;
  const std::vector<unsigned char> binary = cached(key);
  if (binary.empty()) return nullptr;
  const unsigned char* data = binary.data();
  const size_t size = binary.size();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  Program program(clCreateProgramWithBinary(device_->context.get(), 1, &found_.device, &size, &data, &status, &code));
  if (code != CL_SUCCESS || status != CL_SUCCESS) return nullptr;
  if (clBuildProgram(program.get(), 1, &found_.device, options.c_str(), nullptr, nullptr) != CL_SUCCESS) return nullptr;
  ++counts_.loaded;
  return program;
}

void Driver::save(cl_program program, const std::string& key) {
  if (!host_.cache_put || !keeps_programs_) return;
  size_t bytes = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS || bytes == 0)
    return;
  std::vector<unsigned char> binary(bytes);
  unsigned char* data = binary.data();
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr) != CL_SUCCESS) return;
  host_.cache_put(host_.ctx, key.c_str(), binary.data(), bytes);
}

Program Driver::build(const std::string& text, const std::string& name, const std::string& options,
                      const std::string& key) {
  const char* source = text.c_str();
  const size_t size = text.size();
  cl_int code = CL_SUCCESS;
  Program program(clCreateProgramWithSource(device_->context.get(), 1, &source, &size, &code));
  check(code, "clCreateProgramWithSource");
  const auto compile = [&] {
    const KeptHandlers kept;
    return clBuildProgram(program.get(), 1, &found_.device, options.c_str(), nullptr, nullptr);
  };
  code = compile();
  if (code == CL_BUILD_PROGRAM_FAILURE) code = compile();  // a signal may have taken the compiler's files away
  if (code != CL_SUCCESS) {
    const std::string refusal = "the device's compiler refuses kernel '" + name + "' (" + error_name(code) + ")";
    const std::string log = build_log(program.get(), found_.device);
    if (log.empty()) throw Error(TENON_INTERNAL, refusal);
    if (host_.log) host_.log(host_.ctx, TENON_LOG_ERROR, (refusal + "; its log:\n" + log).c_str());
    throw Error(TENON_INTERNAL, refusal + ": " + log.substr(0, log.find('\n')));
  }
  ++counts_.built;
  save(program.get(), key);
  return program;
}

cl_program Driver::program(const std::string& text, const std::string& name, const std::string& options) {
  const std::string whole = std::string(kernel_source("prelude")) + text;
  const std::string all = options + (style_ == KernelStyle::kCpu ? " -D SHAPE_CPU" : " -D SHAPE_GPU") +
                          (has_f64_ ? " -D HAS_F64" : "") + " -w -cl-std=CL1.2";
  char hash[64];
  std::snprintf(hash, sizeof hash, "%016" PRIx64 "-%016" PRIx64, hash_of(whole), hash_of(all));
  const std::string key = "program " + found_.name + " " + found_.version + " " + hash;
  const auto known = [&]() -> cl_program {
    const std::lock_guard lock(device_->mutex);
    const auto found = device_->programs.find(key);
    return found == device_->programs.end() ? nullptr : found->second.get();
  };
  if (cl_program found = known()) return found;
  Program made = load(key, all);  // the host is called under no lock
  if (!made) made = build(whole, name, all, key);
  const std::lock_guard lock(device_->mutex);
  return device_->programs.emplace(key, std::move(made)).first->second.get();
}

KernelObject Driver::kernel_of_text(const std::string& text, const std::string& name, const std::string& options) {
  cl_int code = CL_SUCCESS;
  KernelObject kernel(clCreateKernel(program(text, name, options), name.c_str(), &code));
  check(code, ("clCreateKernel " + name).c_str());
  return kernel;
}

KernelObject Driver::kernel(const std::string& file, const std::string& name, const std::string& options) {
  const char* text = kernel_source(file);
  if (!text) throw Error(TENON_INTERNAL, "there are no kernels '" + file + "'");
  return kernel_of_text(text, name, options);
}

// ---- choices ----

// By the texts of all kernels: which is the quickest hangs on what they say.
std::string Driver::choice_key(const std::string& text) const {
  static const uint64_t sources = hash_of(all_kernel_sources());
  char about[96];
  std::snprintf(about, sizeof about, " %016" PRIx64 " %s %" PRIu32 " units of %" PRIu32 ": ", sources,
                style_ == KernelStyle::kCpu ? "cpu" : "gpu", compute_units_, float_width_);
  return "choice " + found_.name + " " + found_.version + about + text;
}

std::string Driver::choice(const std::string& key) {
  {
    const std::lock_guard lock(device_->mutex);
    const auto found = device_->choices.find(key);
    if (found != device_->choices.end()) return found->second;
  }
  const std::vector<unsigned char> data = cached(key);  // the host is called under no lock
  std::string name(data.begin(), data.end());
  if (name.empty()) return name;
  const std::lock_guard lock(device_->mutex);
  return device_->choices[key] = std::move(name);
}

bool Driver::choose(const std::string& key, const std::string& name) {
  if (host_.cache_put(host_.ctx, key.c_str(), name.data(), name.size()).code != TENON_OK) {
    forgets_ = true;
    return false;
  }
  const std::lock_guard lock(device_->mutex);
  device_->choices[key] = name;
  return true;
}

// ---- what the host is told ----

void Driver::tell(const std::string& detail) const {
  if (host_.log) host_.log(host_.ctx, TENON_LOG_DEBUG, detail.c_str());
}

void Driver::compiled() {
  const uint64_t built = counts_.built.exchange(0), loaded = counts_.loaded.exchange(0);
  const uint64_t measured = counts_.measured.exchange(0), remembered = counts_.remembered.exchange(0);
  if (built + loaded + measured + remembered == 0) return;
  tell("opencl-gpu: " + std::to_string(built) + " programs built, " + std::to_string(loaded) +
       " from the cache; choices of kernels: " + std::to_string(measured) + " measured, " + std::to_string(remembered) +
       " remembered");
}

}  // namespace opencl_gpu
