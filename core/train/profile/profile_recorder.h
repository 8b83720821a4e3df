// Takes down what a device and the host do while training is traced.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backend/device.h"
#include "exchange/world.h"
#include "train/training_site.h"

namespace tenon {

struct KernelRecord {
  uint32_t name;  // index into names
  uint32_t unit, lane;
  uint64_t start_ps, duration_ps;  // of the device's clock
  uint64_t flops, bytes;
};

struct HostRecord {
  int64_t step;   // of all the training, from 1; a call's first
  int64_t steps;  // of a call; 0: a wait for a batch
  uint64_t start_ps, end_ps;
};

struct ExchangeRecord {
  std::string name;
  uint64_t bytes, start_ps, end_ps;
};

class ProfileRecorder : public TraceSink, public HostWatch, public ExchangeWatch {
 public:
  // A profile of more is of no use to any viewer: what comes later is counted only.
  static constexpr size_t kMaxKernels = 1'000'000;

  void emit(const TraceEvent& event) override;
  void waited(uint64_t i, uint64_t start_ps, uint64_t end_ps) override;
  void called(uint64_t start_ps, uint64_t end_ps) override;
  void exchanged(const std::string& name, uint64_t bytes, uint64_t start_ps, uint64_t end_ps) override;
  // `step` steps have been done, those of the last call among them.
  void done(int64_t step);

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<KernelRecord>& kernels() const { return kernels_; }
  const std::vector<HostRecord>& host() const { return host_; }
  const std::vector<ExchangeRecord>& exchanges() const { return exchanges_; }
  uint64_t left_out() const { return left_out_; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<KernelRecord> kernels_;
  std::vector<HostRecord> host_;
  std::vector<ExchangeRecord> exchanges_;
  uint64_t left_out_ = 0;
  int64_t step_ = 0;
};

}  // namespace tenon
