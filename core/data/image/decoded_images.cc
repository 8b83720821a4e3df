// The file: pixels of the images, one after the other; an index, 40 bytes an image; and at its end 48 bytes that say where the index
// is and of what data the images are.
#include "data/image/decoded_images.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/crc32c.h"
#include "base/room.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr char kMagic[8] = {'T', 'N', 'I', 'M', 'G', 'S', '0', '1'};
constexpr int64_t kMostImageBytes = int64_t{1} << 32;

struct StoredPlace {
  uint64_t key;
  int64_t offset;
  int32_t height, width;
  uint32_t crc;
  uint8_t channels, deep, unused[10];
};
static_assert(sizeof(StoredPlace) == 40);

struct FileEnd {
  char magic[8];
  uint64_t data, options, count;
  int64_t index;  // its offset
  uint32_t index_crc, unused;
};
static_assert(sizeof(FileEnd) == 48);

// Sums of products of words: what a file system of images cannot tell apart by chance. Whether files are damaged is not its business.
uint64_t key_of(std::string_view bytes) {
  uint64_t a = 0x9e3779b97f4a7c15 ^ bytes.size(), b = 0xc2b2ae3d27d4eb4f;
  size_t i = 0;
  const auto fold = [](uint64_t x, uint64_t y) {
    const auto product = static_cast<unsigned __int128>(x) * y;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  for (; i + 16 <= bytes.size(); i += 16) {
    uint64_t words[2];
    std::memcpy(words, bytes.data() + i, 16);
    a = fold(a ^ words[0], 0xe7037ed1a0b428db) + words[1];
    b = fold(b ^ words[1], 0x8ebc6af09c88c6e3) + words[0];
  }
  char rest[16] = {};
  if (i < bytes.size()) std::memcpy(rest, bytes.data() + i, bytes.size() - i);
  uint64_t words[2];
  std::memcpy(words, rest, 16);
  return fold(a ^ words[0], b ^ words[1] ^ 0x589965cc75374cc3);
}

bool write_all(int fd, const void* data, size_t bytes, int64_t offset) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = pwrite(fd, from, bytes, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, offset += n, bytes -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

DecodedImages::DecodedImages(ImageCache options, const DecodeOptions& decode)
    : options_(std::move(options)), decode_(decode) {
  decode_.window = {};
  most_bytes_ = options_.max_bytes;
  if (options_.file.empty() && most_bytes_ == 0) most_bytes_ = static_cast<int64_t>(room_left() / 2);
}

DecodedImages::~DecodedImages() {
  if (writer_ < 0) return;
  if (!full_ && asked_ >= images_) finish_file();
  close(writer_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

uint64_t DecodedImages::options_hash() const {
  const int64_t numbers[] = {decode_.channels,      static_cast<int64_t>(decode_.alpha),
                             decode_.background[0], decode_.background[1],
                             decode_.background[2], decode_.deep,
                             decode_.accurate,      decode_.min_width,
                             decode_.min_height};
  return key_of({reinterpret_cast<const char*>(numbers), sizeof numbers});
}

Status DecodedImages::open(uint64_t data, uint64_t images) {
  data_ = data, images_ = images;
  if (options_.file.empty()) return {};
  if (access(options_.file.c_str(), F_OK) != 0) return begin_file();
  TENON_ASSIGN(File file, File::open(options_.file));
  TENON_TRY(read_index(file, data));
  file_ = std::make_unique<File>(std::move(file));
  full_ = true;  // it stays as it is
  return {};
}

Status DecodedImages::read_index(const File& file, uint64_t data) {
  const auto bad = [&](const char* what) {
    return Status(Code::kUnavailable, cat("cache ", file.path(), ": ", what, "; remove it, or name another file"));
  };
  FileEnd end;
  if (file.size() < static_cast<int64_t>(sizeof end)) return bad("is no cache of images");
  const int64_t at = file.size() - static_cast<int64_t>(sizeof end);
  TENON_TRY(file.read_exactly_at(at, &end, sizeof end));
  if (std::memcmp(end.magic, kMagic, sizeof kMagic) != 0) return bad("is no cache of images");
  if (end.data != data) return bad("holds the images of other data");
  if (end.options != options_hash()) return bad("holds images that were decoded with other options");
  if (end.index < 0 || end.index > at || end.count != static_cast<uint64_t>(at - end.index) / sizeof(StoredPlace) ||
      static_cast<uint64_t>(at - end.index) % sizeof(StoredPlace) != 0)
    return bad("is damaged");
  std::vector<StoredPlace> index(end.count);
  TENON_TRY(file.read_exactly_at(end.index, index.data(), index.size() * sizeof(StoredPlace)));
  if (crc32c(index.data(), index.size() * sizeof(StoredPlace)) != end.index_crc) return bad("is damaged");
  for (const StoredPlace& stored : index) {
    const Place place{stored.offset, stored.height, stored.width, stored.crc, stored.channels, stored.deep};
    const bool sides = stored.height > 0 && stored.width > 0 && stored.height <= 1000000 && stored.width <= 1000000 &&
                       stored.channels >= 1 && stored.channels <= 4 && stored.deep <= 1;
    if (!sides || stored.offset < 0 || place.bytes() > kMostImageBytes ||
        stored.offset + static_cast<int64_t>(place.bytes()) > end.index)
      return bad("is damaged");
    places_.emplace(stored.key, place);
  }
  return {};
}

Status DecodedImages::begin_file() {
  const size_t slash = options_.file.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : options_.file.substr(0, slash + 1);
  const std::string name = options_.file.substr(directory.size());
  temporary_ = cat(directory, ".", name, ".tmp-", getpid(), "-", reinterpret_cast<uintptr_t>(this) >> 4 & 0xffffff);
  writer_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (writer_ < 0) {
    const int error = errno;
    temporary_.clear();
    return Status(Code::kUnavailable, cat("cache ", options_.file, ": ", std::strerror(error)));
  }
  TENON_ASSIGN(File file, File::open(temporary_));
  file_ = std::make_unique<File>(std::move(file));
  return {};
}

void DecodedImages::finish_file() {
  std::vector<StoredPlace> index;
  for (const auto& [key, place] : places_)
    index.push_back({key, place.offset, place.height, place.width, place.crc, place.channels, place.deep, {}});
  FileEnd end{{}, data_, options_hash(), index.size(), bytes_, crc32c(index.data(), index.size() * sizeof(StoredPlace)),
              0};
  std::memcpy(end.magic, kMagic, sizeof kMagic);
  const size_t bytes = index.size() * sizeof(StoredPlace);
  const bool written = write_all(writer_, index.data(), bytes, bytes_) &&
                       write_all(writer_, &end, sizeof end, bytes_ + static_cast<int64_t>(bytes)) &&
                       fsync(writer_) == 0 && rename(temporary_.c_str(), options_.file.c_str()) == 0;
  if (written)
    temporary_.clear();
  else
    std::fputs(cat("cache ", options_.file, ": ", std::strerror(errno), "; it is not there for later runs\n").c_str(),
               stderr);
}

bool DecodedImages::find(uint64_t key, Place* place) const {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(key);
  if (found == places_.end()) return false;
  *place = found->second;
  return true;
}

Result<KeptImage> DecodedImages::kept(const Place& place) const {
  PixelView view{.height = place.height,
                 .width = place.width,
                 .stored = place.width,
                 .channels = place.channels,
                 .type = place.deep ? PixelType::kU16 : PixelType::kU8};
  if (place.pixels) {
    view.data = place.pixels->data();
    return KeptImage{view, place.pixels};
  }
  thread_local std::vector<uint8_t> buffer;
  if (!room_to_keep(buffer.size())) std::vector<uint8_t>().swap(buffer);
  TENON_TRY(take_room(place.bytes(), "an image of the cache"));
  buffer.resize(place.bytes());
  TENON_TRY(file_->read_exactly_at(place.offset, buffer.data(), buffer.size()));
  if (crc32c(buffer.data(), buffer.size()) != place.crc) return invalid("cache ", options_.file, ": damaged");
  view.data = buffer.data();
  return KeptImage{view};
}

Result<KeptImage> DecodedImages::get(std::string_view bytes) {
  const uint64_t key = key_of(bytes);
  asked_.fetch_add(1, std::memory_order_relaxed);
  Place place;
  if (find(key, &place)) {
    Result<KeptImage> image = kept(place);
    if (image.ok()) return image;
  }
  thread_local Image decoded;
  TENON_TRY(decode_image(bytes, decode_, &decoded));
  if (!full_.load(std::memory_order_relaxed)) keep(key, decoded);
  return KeptImage{{.data = decoded.pixels.data(),
                    .height = decoded.height,
                    .width = decoded.width,
                    .stored = decoded.width,
                    .channels = decoded.channels,
                    .type = decoded.deep ? PixelType::kU16 : PixelType::kU8}};
}

void DecodedImages::keep(uint64_t key, const Image& image) {
  Place place{0, image.height, image.width, 0, static_cast<uint8_t>(image.channels), static_cast<uint8_t>(image.deep)};
  const auto bytes = static_cast<int64_t>(image.bytes());
  if (options_.file.empty()) {
    if (bytes_.fetch_add(bytes) + bytes > most_bytes_) return stop_keeping("there is no room for more");
    place.pixels = std::make_shared<const std::vector<uint8_t>>(image.pixels.begin(), image.pixels.begin() + bytes);
  } else {
    place.offset = bytes_.fetch_add(bytes);
    place.crc = crc32c(image.pixels.data(), image.bytes());
    if (most_bytes_ > 0 && place.offset + bytes > most_bytes_) return stop_keeping("the file would be too large");
    if (!write_all(writer_, image.pixels.data(), image.bytes(), place.offset))
      return stop_keeping(std::strerror(errno));
  }
  const std::lock_guard lock(mutex_);
  places_.emplace(key, std::move(place));
}

void DecodedImages::stop_keeping(const std::string& why) {
  if (full_.exchange(true)) return;
  const std::lock_guard lock(mutex_);
  std::fputs(cat("cache", options_.file.empty() ? "" : " ", options_.file, ": ", places_.size(), " images are kept, ",
                 why, "; the others are decoded anew each time\n")
                 .c_str(),
             stderr);
}

}  // namespace tenon
