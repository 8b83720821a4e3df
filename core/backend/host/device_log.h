// Where the lines go that backends log: what is for information, and details (debug), which are marked. Warnings go to
// standard error, wherever they come from.
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
  using Tell = std::function<void(const std::string& line, bool detail)>;
  explicit DeviceLog(Tell tell);
  ~DeviceLog();  // flushes
  DeviceLog(const DeviceLog&) = delete;
  DeviceLog& operator=(const DeviceLog&) = delete;

  // On the thread that made it.
  void flush();

  // What a backend logs, on any thread; printable, one line.
  static void write(std::string line, bool detail = false);

 private:
  struct Line {
    std::string text;
    bool detail;
  };
  Tell tell_;
  std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::vector<Line> waiting_;
};

}  // namespace tenon
