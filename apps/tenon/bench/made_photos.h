// Made-up photos in record files, for benchmarks of the input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::runner {

constexpr int kPhotoWidth = 500, kPhotoHeight = 375;

// Noise whose amplitude falls with its frequency, as in photos: u8[height,width,3].
std::vector<uint8_t> made_photo(uint64_t seed);
// A JPEG of quality 90.
std::string photo_jpeg(std::vector<uint8_t> pixels);
// So many of them as records "train-*" of 5 classes in a directory, which is made; one that has such files is left as it is.
void write_photos(const std::string& directory, int64_t count);
// The JPEG of each record of train-*.
std::vector<std::string> photos_in(const std::string& directory);
// Decodes all of it by libjpeg, as it comes.
void decode_photo(const std::string& jpeg, std::vector<uint8_t>& pixels);

}  // namespace tenon::runner
