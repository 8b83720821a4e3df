// Decoded images that are kept for later epochs, in memory or in a file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file/file.h"
#include "data/image/augment.h"
#include "data/image/image.h"
#include "tenon/dataset.h"

namespace tenon {

// The pixels of an image, and who keeps them; without an owner, they are in a buffer of the thread until its next image.
struct KeptImage {
  PixelView view;
  std::shared_ptr<const std::vector<uint8_t>> owner = {};
};

// Thread safe. An image is known by its encoded bytes.
class DecodedImages {
 public:
  // How images are decoded; the whole of each.
  DecodedImages(ImageCache options, const DecodeOptions& decode);
  // Writes the file where it has become whole.
  ~DecodedImages();
  DecodedImages(const DecodedImages&) = delete;
  DecodedImages& operator=(const DecodedImages&) = delete;

  // Opens the file for data with this fingerprint and so many images, or begins one. Nothing for images in memory. Before get().
  Status open(uint64_t data, uint64_t images);
  Result<KeptImage> get(std::string_view bytes);
  // One of the images that needs no decoding, and is not kept.
  void pass_by() { asked_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Place {
    int64_t offset = 0;  // in the file
    int32_t height = 0, width = 0;
    uint32_t crc = 0;
    uint8_t channels = 0, deep = 0;
    std::shared_ptr<const std::vector<uint8_t>> pixels = {};  // in memory
    size_t bytes() const { return static_cast<size_t>(height) * static_cast<size_t>(width) * channels * (deep ? 2 : 1); }
  };
  bool find(uint64_t key, Place* place) const;
  Result<KeptImage> kept(const Place& place) const;
  void keep(uint64_t key, const Image& image);
  void stop_keeping(const std::string& why);
  Status read_index(const File& file, uint64_t data);
  Status begin_file();
  void finish_file();
  uint64_t options_hash() const;

  ImageCache options_;
  DecodeOptions decode_;
  uint64_t data_ = 0, images_ = 0;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Place> places_;
  std::atomic<uint64_t> asked_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> full_{false};
  int64_t most_bytes_ = 0;
  std::unique_ptr<File> file_;  // that is read
  std::string temporary_;       // that is written; empty: none
  int writer_ = -1;
};

}  // namespace tenon
