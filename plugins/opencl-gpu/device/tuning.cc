#include "device/tuning.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>

#include "tenon/plugin/cost.h"

namespace opencl_gpu {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

void add_value(std::string& text, const ValueView& v) {
  text += std::string(" ") + tenon::plugin::dtype_name(v.dtype());
  for (const int64_t d : v.dims()) text += "," + std::to_string(d);
}

// All of a node that its kernels depend on; not its name, nor what attributes "tenon.*" say of where it comes from.
std::string text_of(const NodeView& node) {
  std::string text(node.op());
  for (int i = 0; i < node.operands(); ++i) node.has(i) ? add_value(text, node.in(i)) : void(text += " -");
  for (int i = 0; i < node.results(); ++i) node.has_result(i) ? add_value(text, node.out(i)) : void(text += " -");
  for (int i = 0; i < node.attributes(); ++i) {
    const std::string_view name = node.attribute_name(i);
    const tenon_attr& a = node.attribute(i);
    if (name.substr(0, 6) == "tenon." || a.type == TENON_ATTR_BYTES) continue;
    text += " " + std::string(name);
    int64_t v = 0;  // of a double its bits
    for (uint64_t k = 0; k < std::max<uint64_t>(a.count, 1); ++k) {
      std::memcpy(&v, node.graph().attr_data(a) + k * sizeof v, sizeof v);
      text += "," + std::to_string(v);
    }
  }
  return text;
}

// Whether a node's values and scratch may fit beside the rest of the memory, by their sizes.
bool may_fit(const Driver& driver, const NodeView& node, uint64_t scratch_bytes) {
  uint64_t total = scratch_bytes, largest = scratch_bytes;
  const auto add = [&](const ValueView& v) {
    const auto bytes = static_cast<uint64_t>(v.bytes());
    total += bytes, largest = std::max(largest, bytes);
  };
  for (int i = 0; i < node.operands(); ++i)
    if (node.has(i)) add(node.in(i));
  for (int i = 0; i < node.results(); ++i)
    if (node.has_result(i)) add(node.out(i));
  return total <= driver.memory_bytes() / 8 && largest <= driver.largest_buffer();
}

// Memory like a node's, zeros, that kernels are tried on.
class Trial {
 public:
  Trial(Driver& driver, const NodeView& node) : driver_(driver), stream_(driver.open_stream()) {
    for (int i = 0; i < node.operands(); ++i) operands_.push_back(place(node.has(i) ? node.in(i).bytes() : 0));
    for (int i = 0; i < node.results(); ++i) results_.push_back(place(node.has_result(i) ? node.out(i).bytes() : 0));
  }
  ~Trial() {
    stream_.reset();
    for (size_t i = 0; i < memory_.size(); ++i) driver_.release(memory_[i], bytes_[i]);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // False: there is no memory for all of it. Call once.
  bool allocate(uint64_t scratch_bytes) {
    scratch_ = place(static_cast<int64_t>(scratch_bytes));
    for (const uint64_t n : bytes_) {
      void* memory = driver_.allocate(n);
      if (!memory) return false;
      memory_.push_back(static_cast<uint8_t*>(memory));
      static_cast<Stream&>(*stream_).clear({memory, 0}, n);
    }
    offsets_.assign(memory_.size(), 0);
    return true;
  }

  // The time of one run, from several, one behind the other.
  double seconds(const Kernel& kernel, int runs) {
    Call call;
    call.stream = stream_.get();
    call.bases_ = memory_.data(), call.base_offsets_ = offsets_.data();
    call.operands_ = operands_.data(), call.results_ = results_.data();
    if (scratch_.base >= 0) call.scratch_address_ = {memory_[static_cast<size_t>(scratch_.base)], 0};
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) kernel.run(call);
    stream_->submit()->reached(UINT64_MAX);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / runs;
  }

 private:
  tenon::plugin::Place place(int64_t bytes) {
    if (bytes == 0) return {};
    bytes_.push_back(static_cast<uint64_t>(bytes));
    return {static_cast<int32_t>(bytes_.size() - 1), 0};
  }

  Driver& driver_;
  std::unique_ptr<tenon::plugin::DeviceStream> stream_;
  std::vector<uint64_t> bytes_, offsets_;
  std::vector<uint8_t*> memory_;
  std::vector<tenon::plugin::Place> operands_, results_;
  tenon::plugin::Place scratch_;
};

Kernel made(const Variant& variant) {
  Kernel kernel = variant.make();
  kernel.algorithm = variant.name;
  return kernel;
}

// A variant that the device cannot run is none; but the first has to.
std::vector<Kernel> make_all(const std::vector<Variant>& variants) {
  std::vector<Kernel> kernels{made(variants[0])};
  for (size_t i = 1; i < variants.size(); ++i) {
    try {
      kernels.push_back(made(variants[i]));
    } catch (const Error& e) {
      if (e.code == TENON_DEVICE_LOST) throw;
      kernels.emplace_back();
    }
  }
  return kernels;
}

double try_once(Trial& trial, const Kernel& kernel, int runs, bool must) {
  if (!kernel.run) return kNever;
  try {
    return trial.seconds(kernel, runs);
  } catch (const Error& e) {
    if (must || e.code == TENON_DEVICE_LOST) throw;
    return kNever;
  }
}

// The first, unless another takes less than kClearly of its time.
size_t least_of(const std::vector<double>& seconds) {
  constexpr double kClearly = 0.95;
  const auto least = std::min_element(seconds.begin(), seconds.end());
  return *least < kClearly * seconds[0] ? static_cast<size_t>(least - seconds.begin()) : 0;
}

// Seconds of each, the least of some rounds in turn; empty or OUT_OF_MEMORY where there is no memory for it.
std::vector<double> measure_all(Driver& driver, const NodeView& node, const std::vector<Kernel>& kernels) {
  constexpr double kRun = 1e-3, kBudget = 12e-3, kLong = 50e-3;  // one measurement; all of a kernel's; once is enough
  constexpr int kMostRuns = 16, kMostRounds = 8, kLastRounds = 3;
  static std::mutex mutex;  // of a process one thread measures at a time
  const std::lock_guard lock(mutex);
  uint64_t scratch = 0;
  for (const Kernel& k : kernels) scratch = std::max(scratch, k.scratch_bytes);
  if (!may_fit(driver, node, scratch)) return {};
  Trial trial(driver, node);
  if (!trial.allocate(scratch)) return {};
  std::vector<double> least(kernels.size(), kNever);
  for (size_t i = 0; i < kernels.size(); ++i)  // drivers finish a kernel when it is first run
    if (try_once(trial, kernels[i], 1, i == 0) < kNever) least[i] = try_once(trial, kernels[i], 1, i == 0);
  const int runs = static_cast<int>(std::clamp(kRun / least[0], 1.0, double{kMostRuns}));
  const int rounds =
      least[0] > kLong ? 0 : static_cast<int>(std::clamp(kBudget / (runs * least[0]), 1.0, double{kMostRounds}));
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < kernels.size(); ++i)
      if (least[i] < 2 * least[0]) least[i] = std::min(least[i], try_once(trial, kernels[i], runs, i == 0));
  const size_t best = least_of(least);  // others' work only ever adds time: the rule's gets some more chances
  for (int round = 0; best && least[0] <= kLong && round < kLastRounds; ++round)
    for (const size_t i : {size_t{0}, best}) least[i] = std::min(least[i], try_once(trial, kernels[i], runs, i == 0));
  return least;
}

// Drivers may find only when memory is used that there is none.
std::vector<double> measure(Driver& driver, const NodeView& node, const std::vector<Kernel>& kernels) {
  try {
    return measure_all(driver, node, kernels);
  } catch (const Error& e) {
    if (e.code != TENON_OUT_OF_MEMORY) throw;
    return {};
  }
}

size_t index_of(const std::vector<Variant>& variants, const std::string& name) {
  const auto same = [&](const Variant& w) { return w.name == name; };
  return static_cast<size_t>(std::find_if(variants.begin(), variants.end(), same) - variants.begin());
}

std::string report(const NodeView& node, const std::vector<Variant>& variants, const std::vector<double>& seconds,
                   size_t best) {
  std::string text = "opencl-gpu: measured " + text_of(node) + ":";
  for (size_t i = 0; i < variants.size(); ++i) {
    char ms[32];
    std::snprintf(ms, sizeof ms, " %.3f ms%s", seconds[i] * 1e3, i + 1 < variants.size() ? "," : ";");
    text += " " + variants[i].name + ms;
  }
  return text + " takes " + variants[best].name;
}

// TENON_OPENCL_VARIANT=N takes variant N of every node, for trying them; those that have fewer begin again. kMeasured: unset.
constexpr size_t kMeasured = SIZE_MAX;
size_t forced_variant() {
  const char* forced = std::getenv("TENON_OPENCL_VARIANT");
  if (!forced) return kMeasured;
  const std::string variant = forced;
  if (variant.empty() || variant.size() > 3 || variant.find_first_not_of("0123456789") != std::string::npos)
    throw Error(TENON_INVALID, "TENON_OPENCL_VARIANT: expected a number from 0 to 999, found '" + variant + "'");
  return std::stoul(variant);
}

}  // namespace

Kernel quickest(const NodeView& node, const Env& env, const std::vector<Variant>& variants, double small) {
  Driver& driver = driver_of(*env.device);
  if (const size_t forced = forced_variant(); forced != kMeasured) return made(variants[forced % variants.size()]);
  if (variants.size() == 1 || env.deterministic || !driver.remembers() ||
      static_cast<double>(tenon::plugin::cost_of(node).flops) < 2 * small)
    return made(variants[0]);
  const std::string key = driver.choice_key(text_of(node));
  if (const size_t known = index_of(variants, driver.choice(key)); known < variants.size()) {
    ++driver.counts().remembered;
    return made(variants[known]);
  }
  if (!may_fit(driver, node, 0)) return made(variants[0]);
  const std::vector<Kernel> kernels = make_all(variants);
  const std::vector<double> seconds = measure(driver, node, kernels);
  if (seconds.empty()) {
    driver.choose(key, variants[0].name);  // the next start need not make them all
    return kernels[0];
  }
  ++driver.counts().measured;
  size_t best = least_of(seconds);
  // Another process may have been sooner: then both do the same.
  if (const size_t known = index_of(variants, driver.choice(key)); known < variants.size() && kernels[known].run)
    best = known;
  else if (!driver.choose(key, variants[best].name))
    best = 0;  // what cannot be remembered is not chosen by the clock
  driver.tell(report(node, variants, seconds, best));
  return kernels[best];
}

}  // namespace opencl_gpu
