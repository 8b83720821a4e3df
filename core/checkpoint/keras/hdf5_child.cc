// What the HDF5 library is asked in a child process: a file looked into, or written.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "base/process/probe.h"
#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/keras/hdf5_file.h"
#include "checkpoint/within_memory.h"
#include "tenon/part.h"

namespace tenon {
namespace {

const PartName kPart{"files/hdf5", "HDF5", "tenon-hdf5", "libhdf5-dev"};
constexpr int64_t kMostOfStored = 2048;          // what is compressed in a file becomes at most so many times its size
constexpr rlim_t kMostMemory = rlim_t{1} << 30;  // of the child, beside the bytes that it decodes
constexpr size_t kPiece = size_t{1} << 20;

int64_t most_decoded(int64_t file_bytes) {
  const auto room = static_cast<int64_t>(std::min<uint64_t>(room_left() / 2, INT64_MAX));
  return std::min(room, file_bytes > INT64_MAX / kMostOfStored ? INT64_MAX : file_bytes * kMostOfStored + (1 << 20));
}

Descriptor file_in_memory() { return above_standard_streams(::memfd_create("tenon-hdf5", MFD_CLOEXEC)); }

// Limits the child alone. What this process had mapped before it was forked counts too.
void limit_memory(int64_t decoded) {
  std::ifstream status("/proc/self/statm");
  uint64_t pages = 0;
  if (!(status >> pages)) return;
  const rlim_t most = pages * 4096 + kMostMemory + static_cast<rlim_t>(decoded);
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_AS, &limit);
}

std::chrono::milliseconds time_for(int64_t bytes) { return std::chrono::seconds(60 + bytes / (int64_t{16} << 20)); }

// Runs `work` with the part in a child process; what it made of the index.
template <class Work>
Result<Hdf5Index> in_child(const std::string& path, int64_t decoded, std::chrono::milliseconds limit,
                           const Work& work) {
  TENON_TRY(Part::find(kPart).status());
  const ProbeWork probe = [&](const ProbeStage& stage) -> Result<std::string> {
    TENON_ASSIGN(const Part part, Part::open(kPart));
    const auto version = part.function<tenon_hdf5_version_fn>("tenon_hdf5_version");
    if (!version || version() != kHdf5Version) return part.other_version();
    limit_memory(decoded);
    stage("the HDF5 library");
    Hdf5Index index;
    std::string why;
    if (!work(part, &index, &why)) return Status(Code::kInvalid, why);
    std::string bytes = bytes_of(index);
    if (bytes.size() > kMaxProbeAnswer) return Status(Code::kInvalid, "it has too many names");
    return bytes;
  };
  const Result<std::string> answer = std::move(probe_all({probe}, limit).at(0));
  if (!answer.ok()) {
    const bool died = answer.status().code() == Code::kAbi || answer.status().code() == Code::kTimeout;
    if (answer.status().code() == Code::kUnavailable) return answer.status();
    return invalid("'", path, "': ", died ? "is damaged: reading it " : "",
                   abbreviated(answer.status().message(), 300));
  }
  std::optional<Hdf5Index> index = index_of(*answer);
  if (!index) return invalid("'", path, "': is damaged");
  return std::move(*index);
}

}  // namespace

Result<Hdf5File> Hdf5File::open(const std::string& path) {
  TENON_TRY(check_path(path));
  Descriptor descriptor = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!descriptor) return file_error("cannot open", path, errno);
  return of(std::move(descriptor), path);
}

Result<Hdf5File> Hdf5File::of(Descriptor descriptor, const std::string& path) {
  const int number = descriptor.get();
  TENON_ASSIGN(File file, File::of(std::move(descriptor), path));
  Descriptor second = nameless_file(temporary_directory());  // which few files need
  if (!second) second = file_in_memory();
  if (!second) return file_error("cannot make a temporary file to read", path, errno);
  const int decoded = second.get();
  return within_memory("read", path, [&]() -> Result<Hdf5File> {
    const int64_t most = most_decoded(file.size());
    TENON_ASSIGN(Hdf5Index index,
                 in_child(path, most, time_for(file.size()), [&](const Part& part, Hdf5Index* out, std::string* why) {
                   const auto read = part.function<tenon_hdf5_read_fn>("tenon_hdf5_read");
                   return read && read(number, decoded, most, out, why);
                 }));
    TENON_ASSIGN(File apart, File::of(std::move(second), path));
    TENON_TRY(check_places(index, path, file.size(), apart.size()));
    return Hdf5File(std::move(file), std::move(apart), std::move(index));
  });
}

namespace {

// The library's file, without the bytes of datasets, and these in between.
class Hdf5Writer {
 public:
  Hdf5Writer(const File& frame, AtomicFile& out) : frame_(frame), out_(out) {}

  Status write(std::vector<std::pair<const Hdf5Dataset*, const FillBytes*>> in_order) {
    std::sort(in_order.begin(), in_order.end(),
              [](const auto& a, const auto& b) { return a.first->offset < b.first->offset; });
    for (const auto& [dataset, fill] : in_order) {
      if (dataset->bytes == 0) continue;
      if (dataset->offset < at_) return Status(Code::kInternal, "datasets overlap");
      TENON_TRY(copy_to(dataset->offset));
      for (int64_t left = dataset->bytes; left > 0; left -= std::ssize(piece_)) {
        piece_.resize(std::min<size_t>(kPiece, static_cast<size_t>(left)));
        TENON_TRY((*fill)(piece_));
        TENON_TRY(out_.write(piece_.data(), piece_.size()));
      }
      at_ += dataset->bytes;
    }
    return copy_to(frame_.size());
  }

 private:
  Status copy_to(int64_t end) {
    while (at_ < end) {
      piece_.resize(std::min<size_t>(kPiece, static_cast<size_t>(end - at_)));
      TENON_TRY(frame_.read_exactly_at(at_, piece_.data(), piece_.size()));
      TENON_TRY(out_.write(piece_.data(), piece_.size()));
      at_ += std::ssize(piece_);
    }
    return {};
  }

  const File& frame_;
  AtomicFile& out_;
  std::vector<std::byte> piece_;
  int64_t at_ = 0;
};

}  // namespace

Status write_hdf5(const std::string& path, std::vector<Hdf5Names> groups, const std::vector<Hdf5Source>& datasets) {
  Descriptor memory = file_in_memory();  // with holes where datasets are
  if (!memory) return file_error("cannot make a file in memory for", path, errno);
  const int number = memory.get();
  TENON_ASSIGN(const Hdf5Index placed,
               in_child(path, 0, time_for(0), [&](const Part& part, Hdf5Index* index, std::string* why) {
                 index->attributes = groups;
                 for (const Hdf5Source& source : datasets) index->datasets.push_back(source.dataset);
                 const auto write = part.function<tenon_hdf5_write_fn>("tenon_hdf5_write");
                 return write && write(number, index, why);
               }));
  TENON_ASSIGN(const File frame, File::of(std::move(memory), path));
  TENON_TRY(check_places(placed, path, frame.size(), frame.size()));
  if (placed.datasets.size() != datasets.size()) return Status(Code::kInternal, "datasets were lost");
  std::vector<std::pair<const Hdf5Dataset*, const FillBytes*>> in_order;
  for (size_t i = 0; i < datasets.size(); ++i) in_order.emplace_back(&placed.datasets[i], &datasets[i].fill);
  TENON_ASSIGN(AtomicFile out, AtomicFile::create(path));
  TENON_TRY(Hdf5Writer(frame, out).write(std::move(in_order)));
  return out.commit();
}

}  // namespace tenon
