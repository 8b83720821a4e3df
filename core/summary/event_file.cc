#include "summary/event_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>

#include "base/file/file.h"
#include "base/strings.h"
#include "data/record/record_format.h"
#include "summary/event_proto.h"
#include "tenon/processes.h"

namespace tenon {
namespace {

constexpr int kMostFiles = 1000;  // of one name
constexpr const char* kEventFiles = "events.out.tfevents.*";

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// As TensorFlow calls it; ten digits, so that names are in the order of time.
std::string event_file_name() {
  static std::atomic<int> count{0};
  std::array<char, 256> host{};
  const bool named = ::gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  std::string time = cat(static_cast<int64_t>(wall_time()));
  time.insert(0, 10 - std::min<size_t>(time.size(), 10), '0');
  return cat("events.out.tfevents.", time, ".", named ? host.data() : "localhost", ".", ::getpid(), ".", count++);
}

// Whether a process that lives holds it: each locks what it writes until it ends, however it ends.
bool is_written(const std::string& path) {
  const Descriptor file = open_file(path, O_RDONLY);
  return file && retry([&] { return ::flock(file.get(), LOCK_SH | LOCK_NB); }) != 0 && errno == EWOULDBLOCK;
}

// REQUIRED: the own file is locked, so that of two runs that begin together one sees the other.
std::string notice_of_others(const std::string& directory, const std::string& own) {
  const Result<std::vector<std::string>> files = list_files(directory, kEventFiles);
  if (!files.ok()) return {};
  for (const std::string& path : *files)
    if (path != own && is_written(path))
      return cat(directory, ": another run writes ", name_of(path), " there now; TensorBoard shows both as one");
  return {};
}

}  // namespace

std::shared_ptr<EventFile> EventFile::of(const std::string& directory, const std::string& suffix) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<EventFile>> files;  // by directory
  if (!is_first_process()) return nullptr;
  check(make_directories(directory));
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(directory, error);
  const std::lock_guard lock(mutex);
  std::weak_ptr<EventFile>& known = files[error ? directory : real.string()];
  std::shared_ptr<EventFile> file = known.lock();
  if (!file || !file->is_there()) known = file = std::make_shared<EventFile>(directory, suffix);
  return file;
}

EventFile::EventFile(const std::string& directory, const std::string& suffix) {
  create(directory, suffix);
  (void)retry([&] { return ::flock(file_.get(), LOCK_EX | LOCK_NB); });
  notice_ = notice_of_others(directory, path_);
  try {
    add(event_proto::file_version());
  } catch (const Error&) {
    (void)remove_file(path_);
    throw;
  }
}

void EventFile::create(const std::string& directory, const std::string& suffix) {
  for (int n = 0; n < kMostFiles && !file_; ++n) {
    path_ = cat(directory, "/", event_file_name(), suffix);
    file_ = open_file(path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
    if (!file_ && errno != EEXIST) break;
  }
  if (!file_) check(file_error("cannot create", path_, errno));
}

bool EventFile::is_there() const {
  struct stat named {
  }, open{};
  return ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.get(), &open) == 0 && named.st_ino == open.st_ino &&
         named.st_dev == open.st_dev;
}

void EventFile::add(std::string_view rest) {
  const std::lock_guard lock(mutex_);
  if (damaged_) fail("cannot write '", path_, "': its last record is not complete");
  std::string event;
  event_proto::put_double(event, event_proto::kWallTime, wall_time());
  event.append(rest);
  const RecordFrame frame(event);
  std::string record;
  record.append(frame.header(), kRecordHeader).append(event).append(frame.footer(), kRecordFooter);
  if (write_fully(file_.get(), record.data(), record.size())) {
    size_ += std::ssize(record);
    return;
  }
  const int error = errno;
  damaged_ = retry([&] { return ::ftruncate(file_.get(), size_); }) != 0;
  check(file_error("cannot write", path_, error));
}

}  // namespace tenon
