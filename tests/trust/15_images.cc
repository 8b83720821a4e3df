// Row 15: more than 200 images that nobody should have made, each decoded in a process of its own: at most 64 MB and one
// second of processor time, and an error that names what is wrong unless the image is only odd.
//   trust_images SECONDS
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/room.h"
#include "data/image/image.h"
#include "unit/data/jpeg_writer.h"

using namespace tenon;

namespace {

constexpr long kMostKib = 64 << 10;
constexpr double kMostSeconds = 1;

struct Hostile {
  std::string name;
  std::string bytes;
  bool may_decode = false;  // odd, not wrong
};

using Images = std::vector<Hostile>;

std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
  return out;
}

// ---- JPEG ----

std::string segment(int marker, const std::string& contents) {
  return std::string("\xff") + static_cast<char>(marker) + big_endian(contents.size() + 2, 2) + contents;
}

std::string jpeg_with(const std::function<void(jpeg_compress_struct&)>& setup, int components = 3,
                      J_COLOR_SPACE space = JCS_RGB) {
  return write_jpeg(smooth_pixels(48, 40, components), 48, 40, components, space, setup);
}

size_t frame_at(const std::string& jpeg) {
  for (size_t i = 2; i + 9 < jpeg.size();) {
    const int marker = static_cast<uint8_t>(jpeg[i + 1]);
    if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) return i;
    i += 2 + static_cast<uint8_t>(jpeg[i + 2]) * 256u + static_cast<uint8_t>(jpeg[i + 3]);
  }
  return 0;
}

std::string sized(std::string jpeg, int width, int height) {
  return jpeg.replace(frame_at(jpeg) + 5, 4,
                      big_endian(static_cast<uint64_t>(height), 2) + big_endian(static_cast<uint64_t>(width), 2));
}

// A gray progressive image without a single coefficient, in a few bytes a scan: first the DC of all blocks, then scans that
// look at all other coefficients of every block and say that nothing changes.
std::string empty_scans(int width, int height, int scans) {
  const size_t blocks = static_cast<size_t>((width + 7) / 8) * static_cast<size_t>((height + 7) / 8);
  std::string jpeg = "\xff\xd8" + segment(0xdb, std::string(1, '\0') + std::string(64, '\1'));
  jpeg += segment(0xc2, "\x08" + big_endian(static_cast<uint64_t>(height), 2) +
                            big_endian(static_cast<uint64_t>(width), 2) + std::string("\1\1\x11\0", 4));
  const auto one_code = [](char table, char symbol) {
    return table + std::string("\1") + std::string(15, '\0') + symbol;
  };
  jpeg += segment(0xc4, one_code('\0', '\0')) + segment(0xc4, one_code('\x10', '\xe0'));
  jpeg += segment(0xda, std::string("\1\1\0\0\0\0", 6)) + std::string(blocks / 8 + 1, '\0');
  for (int scan = 1; scan < scans; ++scan)
    jpeg += segment(0xda, std::string("\1\1\0\1\x3f", 5) + static_cast<char>(scan == 1 ? 0x01 : 0x10)) +
            std::string(blocks / 16384 * 15 / 8 + 8, '\0');
  return jpeg + "\xff\xd9";
}

void jpeg_sizes(Images& out) {
  const auto progressive = [](jpeg_compress_struct& j) { jpeg_simple_progression(&j); };
  const auto arithmetic = [](jpeg_compress_struct& j) { j.arith_code = TRUE; };
  const std::pair<const char*, std::string> kinds[] = {{"baseline", jpeg_with({})},
                                                       {"progressive", jpeg_with(progressive)},
                                                       {"arithmetic", jpeg_with(arithmetic)},
                                                       {"gray", jpeg_with({}, 1, JCS_GRAYSCALE)},
                                                       {"cmyk", jpeg_with({}, 4, JCS_CMYK)}};
  for (const auto& [name, jpeg] : kinds)
    for (const auto& [width, height] : {std::pair(65500, 65500),
                                        {65535, 65535},
                                        {65500, 1},
                                        {1, 65500},
                                        {65500, 300},
                                        {0, 9},
                                        {9, 0},
                                        {4400, 4400},
                                        {2700, 2700},
                                        {4700, 4700}}) {
      // Arithmetic coding takes missing bytes for zeros, as its standard has it.
      const bool may = std::string(name) == "arithmetic";
      out.push_back({std::string(name) + " " + std::to_string(width) + "x" + std::to_string(height),
                     sized(jpeg, width, height), may});
    }
  out.push_back({"cmyk", kinds[4].second, true});
}

void jpeg_scans(Images& out) {
  for (const int scans : {101, 150, 1000, 5000})
    out.push_back({"scans " + std::to_string(scans), empty_scans(64, 64, scans)});
  for (const int side : {1000, 2000, 3000, 3600})
    for (const int scans : {20, 50, 100, 300})
      out.push_back({"scans " + std::to_string(scans) + " of " + std::to_string(side), empty_scans(side, side, scans),
                     scans <= 100});
}

void jpeg_frames(Images& out) {
  const std::string good = jpeg_with({});
  const size_t frame = frame_at(good);
  for (const int precision : {0, 1, 2, 7, 9, 12, 16, 255}) {
    std::string bad = good;
    bad[frame + 4] = static_cast<char>(precision);
    out.push_back({"precision " + std::to_string(precision), bad});
  }
  for (const int components : {0, 2, 4, 5, 11, 255}) {
    std::string bad = good;
    bad[frame + 9] = static_cast<char>(components);
    out.push_back({"components " + std::to_string(components), bad});
  }
  for (const int sampling : {0x00, 0x01, 0x10, 0x55, 0xff, 0x14}) {
    std::string bad = good;
    bad[frame + 11] = static_cast<char>(sampling);
    out.push_back({"sampling " + std::to_string(sampling), bad, true});
  }
  for (const int marker : {0xc3, 0xc5, 0xc6, 0xc7, 0xc8, 0xcb, 0xcd, 0xce, 0xcf, 0xdc, 0xd9}) {
    std::string bad = good;
    bad[frame + 1] = static_cast<char>(marker);
    out.push_back({"frame of kind " + std::to_string(marker), bad});
  }
  out.push_back({"two frames", good.substr(0, frame) + good.substr(frame, 19) + good.substr(frame)});
  out.push_back({"two beginnings", good.substr(0, 2) + good});
}

void jpeg_segments(Images& out) {
  const std::string good = jpeg_with({}), start = good.substr(0, 2), rest = good.substr(2);
  for (const int marker : {0xe0, 0xe1, 0xe2, 0xed, 0xee, 0xfe}) {
    const std::string name = "segment " + std::to_string(marker);
    const std::string head = std::string("\xff") + static_cast<char>(marker);
    for (const int length : {0, 1})
      out.push_back({name + " of length " + std::to_string(length),
                     start + head + big_endian(static_cast<uint64_t>(length), 2) + rest, true});  // taken for empty
    out.push_back({name + " behind the end", start + head + "\xff\xff" + rest});
    out.push_back(
        {name + " of rubbish", start + segment(marker, "Exif\0\0MM" + std::string(3000, '\x7f')) + rest, true});
  }
  std::string many = start;
  for (int i = 0; i < 5000; ++i) many += segment(0xe1, std::string("Exif\0\0II*\0\xff\xff\xff\xff", 14));
  out.push_back({"5000 EXIF segments", many + rest, true});
  std::string exif = std::string("Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\x03\0\xff\xff\xff\xff\x08\0\0\0\x08\0\0\0", 34);
  out.push_back({"EXIF in a circle", start + segment(0xe1, exif) + rest, true});
  out.push_back(
      {"Huffman table too full", start + segment(0xc4, std::string(1, '\0') + std::string(16, '\xff')) + rest});
  out.push_back({"Huffman table 200", start + segment(0xc4, "\xc8" + std::string(16, '\0')) + rest});
  out.push_back({"quantisation table 9", start + segment(0xdb, "\x09" + std::string(64, '\1')) + rest});
  out.push_back({"restart after each block", start + segment(0xdd, std::string("\0\1", 2)) + rest, true});
  out.push_back({"thousand fill bytes", start + std::string(1000, '\xff') + rest, true});
}

void cut(Images& out, const std::string& name, const std::string& file, size_t parts) {
  for (size_t i = 0; i < parts; ++i)
    out.push_back(
        {name + " cut at " + std::to_string(file.size() * i / parts), file.substr(0, file.size() * i / parts)});
}

// ---- PNG ----

std::string chunk(const std::string& name, const std::string& data) {
  const std::string body = name + data;
  return big_endian(data.size(), 4) + body +
         big_endian(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())), 4);
}

std::string png_head(uint64_t width, uint64_t height, int depth, int type, int interlace = 0) {
  const std::string header =
      big_endian(width, 4) + big_endian(height, 4) + static_cast<char>(depth) + static_cast<char>(type);
  return std::string("\x89PNG\r\n\x1a\n", 8) +
         chunk("IHDR", header + std::string(2, '\0') + static_cast<char>(interlace));
}

std::string deflated(size_t zeros) {
  std::string out;
  z_stream z{};
  deflateInit(&z, 9);
  std::string in(1 << 20, '\0'), part(1 << 16, '\0');
  for (int code = Z_OK; code != Z_STREAM_END;) {
    if (z.avail_in == 0 && zeros > 0) {
      z.next_in = reinterpret_cast<Bytef*>(in.data()), z.avail_in = static_cast<uInt>(std::min(zeros, in.size()));
      zeros -= z.avail_in;
    }
    z.next_out = reinterpret_cast<Bytef*>(part.data()), z.avail_out = static_cast<uInt>(part.size());
    code = deflate(&z, zeros == 0 ? Z_FINISH : Z_NO_FLUSH);
    out.append(part, 0, part.size() - z.avail_out);
  }
  deflateEnd(&z);
  return out;
}

void png_sizes(Images& out) {
  const std::string data = chunk("IDAT", deflated(100));
  for (const auto& [width, height] : {std::pair<uint64_t, uint64_t>(0x7fffffff, 0x7fffffff),
                                      {0xffffffff, 1},
                                      {0, 0},
                                      {1, 0x7fffffff},
                                      {0x7fffffff, 1},
                                      {65500, 65500},
                                      {1000000, 1000000},
                                      {1000001, 1},
                                      {1000000, 22},
                                      {4700, 4700}})
    for (const int type : {0, 2, 3, 6})
      out.push_back({"PNG " + std::to_string(width) + "x" + std::to_string(height) + " type " + std::to_string(type),
                     png_head(width, height, 8, type) + data + chunk("IEND", "")});
  for (const int depth : {0, 3, 7, 17, 255})
    out.push_back({"PNG of depth " + std::to_string(depth), png_head(8, 8, depth, 2) + data});
  for (const int type : {1, 5, 7, 255})
    out.push_back({"PNG of type " + std::to_string(type), png_head(8, 8, 8, type) + data});
}

void png_chunks(Images& out) {
  const std::string head = png_head(4, 4, 8, 2), data = chunk("IDAT", deflated(52)), end = chunk("IEND", "");
  for (const char* name : {"tEXt", "zTXt", "iTXt", "iCCP", "sPLT", "eXIf", "PLTE", "tRNS", "IDAT", "gAMA", "noNe"})
    for (const uint64_t length : {0x7fffffffu, 0xffffffffu, 0x10000000u})
      out.push_back({std::string("PNG chunk ") + name + " of " + std::to_string(length),
                     head + big_endian(length, 4) + name + "text"});
  std::string texts = head, none = head;
  const std::string bomb = std::string("k\0\0", 3) + deflated(1 << 20);
  for (int i = 0; i < 2000; ++i) texts += chunk("zTXt", bomb), none += chunk("noNe", "");
  out.push_back({"PNG with 2000 texts of 1 MB", texts + data + end, true});
  out.push_back({"PNG with 2000 unknown chunks", none + data + end, true});
  out.push_back({"PNG with a profile of 100 MB",
                 head + chunk("iCCP", std::string("k\0\0", 3) + deflated(100 << 20)) + data + end, true});
  out.push_back({"PNG with an unknown critical chunk", head + chunk("NoNe", "") + data + end});
  out.push_back({"PNG without a palette", png_head(4, 4, 8, 3) + data + end});
  out.push_back({"PNG with too much data", head + chunk("IDAT", deflated(100 << 20)) + end, true});
  const std::string all = deflated(size_t{4000} * (4000 * 8 + 1) + 100000);
  for (const int interlace : {0, 1})
    out.push_back({"PNG of 16 bits and alpha, 4000x4000",
                   png_head(4000, 4000, 16, 6, interlace) + chunk("IDAT", all) + end, true});
}

Images all_images() {
  Images out;
  for (const char* text : {"", "\xff", "\xff\xd8", "\xff\xd8\xff", "\xff\xd8\xff\xd9", "GIF89a", "hello, world"})
    out.push_back({"'" + std::string(text) + "'", text});
  jpeg_sizes(out), jpeg_scans(out), jpeg_frames(out), jpeg_segments(out);
  cut(out, "JPEG", jpeg_with({}), 20);
  cut(out, "progressive JPEG", jpeg_with([](jpeg_compress_struct& j) { jpeg_simple_progression(&j); }), 20);
  cut(out, "PNG", *encode_png(smooth_pixels(48, 40, 3).data(), 48, 40, 3), 20);
  png_sizes(out), png_chunks(out);
  return out;
}

// ---- judging ----

struct Cost {
  long kib = 0;
  double seconds = 0;
  char message[200] = {};
  bool ended = false;
};

double cpu_seconds(const rusage& u) {
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// Decodes in a process of its own. `limit`: of memory, as DecodeOptions has it.
Cost cost_of(const std::string& bytes, int channels, int64_t limit) {
  int pipe_ends[2];
  Cost cost;
  if (::pipe(pipe_ends) != 0) return cost;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    rusage before, after;
    Image image;
    for (const std::string& small :
         {*encode_jpeg(smooth_pixels(8, 8, 3).data(), 8, 8, 3), *encode_png(smooth_pixels(8, 8, 3).data(), 8, 8, 3)})
      (void)decode_image(small, {}, &image);    // the libraries' code is there before it is measured,
    (void)take_room(kRoomGranule, "an image");  // and that which asks what is left
    image = {};
    ::getrusage(RUSAGE_SELF, &before);
    const Status status = decode_image(bytes, {.channels = channels, .max_bytes = limit}, &image);
    (void)read_image_info(bytes);
    ::getrusage(RUSAGE_SELF, &after);
    cost.kib = after.ru_maxrss - before.ru_maxrss;
    cost.seconds = cpu_seconds(after) - cpu_seconds(before);
    std::snprintf(cost.message, sizeof cost.message, "%s", status.message().c_str());
    cost.ended = true;
    (void)!::write(pipe_ends[1], &cost, sizeof cost);
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  if (::read(pipe_ends[0], &cost, sizeof cost) != static_cast<ssize_t>(sizeof cost)) cost.ended = false;
  ::close(pipe_ends[0]);
  ::waitpid(child, nullptr, 0);
  return cost;
}

bool within(const Cost& cost) { return cost.ended && cost.kib <= kMostKib && cost.seconds <= kMostSeconds; }

bool named(const Hostile& image, const Cost& cost) {
  const std::string message = cost.message;
  return image.may_decode ? true : !message.empty() && message.find('\n') == std::string::npos;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s SECONDS\n", argv[0]), 2;
  const Images images = all_images();
  size_t failed = 0, errors = 0;
  Cost most;
  for (const Hostile& image : images)
    for (const int channels : {3, 1}) {
      Cost cost = cost_of(image.bytes, channels, DecodeOptions().max_bytes);
      // Where others use the processor's caches, time says little: the least of three counts.
      for (int again = 0; again < 2 && cost.ended && cost.seconds > kMostSeconds; ++again)
        cost = cost_of(image.bytes, channels, DecodeOptions().max_bytes);
      errors += cost.message[0] != 0;
      most.kib = std::max(most.kib, cost.kib), most.seconds = std::max(most.seconds, cost.seconds);
      if (within(cost) && named(image, cost)) continue;
      ++failed;
      std::fprintf(stderr, "row 15: %s, to %d channels: %s, %ld KiB, %.2f s, '%s'\n", image.name.c_str(), channels,
                   cost.ended ? "ended" : "died", cost.kib, cost.seconds, cost.message);
    }
  // The control: without the limit these take what their headers and scans ask for.
  const std::string bombs[] = {empty_scans(12000, 12000, 2), empty_scans(9000, 6000, 2)};
  size_t caught = 0;
  for (const std::string& bomb : bombs) caught += !within(cost_of(bomb, 3, int64_t{2} << 30));
  std::printf(
      "row 15: hostile images cost little and are named | asked: 200 JPEGs, <= 64 MB, <= 1 s each | seen: %zu JPEGs "
      "and PNGs, "
      "each to 3 channels and to 1: %zu errors named, at most %ld KiB and %.2f s, %zu wrong | control: memory limit of "
      "2 GiB, "
      "%zu of 2 large images then exceed 64 MB\n",
      images.size(), errors, most.kib, most.seconds, failed, caught);
  return failed == 0 && caught == 2 && images.size() >= 200 ? 0 : 1;
}
