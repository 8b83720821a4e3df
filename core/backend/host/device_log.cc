#include "backend/host/device_log.h"

#include <algorithm>

namespace tenon {
namespace {

struct Listeners {
  std::mutex mutex;
  std::vector<DeviceLog*> all;  // the newest last
};

Listeners& listeners() {
  static auto* instance = new Listeners;  // backends may log to the end
  return *instance;
}

}  // namespace

DeviceLog::DeviceLog(Tell tell) : tell_(std::move(tell)) {
  const std::lock_guard lock(listeners().mutex);
  listeners().all.push_back(this);
}

DeviceLog::~DeviceLog() {
  {
    const std::lock_guard lock(listeners().mutex);
    std::erase(listeners().all, this);
  }
  flush();
}

void DeviceLog::flush() {
  std::vector<Line> lines;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(waiting_);
  }
  for (const Line& line : lines) tell_(line.text, line.detail);
}

void DeviceLog::write(std::string line, bool detail) {
  DeviceLog* mine = nullptr;
  {
    const std::lock_guard lock(listeners().mutex);
    if (listeners().all.empty()) return;
    DeviceLog* newest = listeners().all.back();
    const std::lock_guard also(newest->mutex_);
    newest->waiting_.push_back({std::move(line), detail});
    if (newest->owner_ == std::this_thread::get_id()) mine = newest;
  }
  if (mine) mine->flush();
}

}  // namespace tenon
