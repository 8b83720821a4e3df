// Where the lines go that backends log for information; their warnings go to standard error, wherever they come from.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tenon {

// Takes the lines of all backends while it lives; of several the newest does. Without one they are dropped. Lines that are
// logged on the thread that made it are told at once, those of other threads with the next flush(), in order.
class DeviceLog {
 public:
  explicit DeviceLog(std::function<void(const std::string& line)> tell);
  ~DeviceLog();  // flushes
  DeviceLog(const DeviceLog&) = delete;
  DeviceLog& operator=(const DeviceLog&) = delete;

  // On the thread that made it.
  void flush();

  // What a backend logs, on any thread; printable, one line.
  static void write(std::string line);

 private:
  std::function<void(const std::string&)> tell_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::vector<std::string> waiting_;
};

}  // namespace tenon
