#include <zlib.h>

#include <cmath>
#include <cstdio>

#include "base/file/file.h"
#include "base/strings.h"
#include "tenon/text.h"
#include "train/profile/profile_space.h"

namespace tenon {
namespace {

// Gathers text and writes it compressed.
class GzipText {
 public:
  explicit GzipText(AtomicFile& file) : file_(file) {}
  ~GzipText() { deflateEnd(&zlib_); }
  GzipText(const GzipText&) = delete;
  GzipText& operator=(const GzipText&) = delete;

  Status start() {
    constexpr int kGzip = 15 + 16;
    if (deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK) return {};
    return Status(Code::kOutOfMemory, cat("no memory to compress '", file_.path(), "'"));
  }
  // To be written to; write_some() takes it away once there is enough.
  std::string text;
  Status write_some() { return text.size() < kEnough ? Status() : flush(Z_NO_FLUSH); }
  Status finish() { return flush(Z_FINISH); }

 private:
  static constexpr size_t kEnough = 64 << 10;

  Status flush(int mode) {
    zlib_.next_in = reinterpret_cast<Bytef*>(text.data());
    zlib_.avail_in = static_cast<uInt>(text.size());
    char out[16 << 10];
    do {
      zlib_.next_out = reinterpret_cast<Bytef*>(out);
      zlib_.avail_out = sizeof out;
      deflate(&zlib_, mode);
      TENON_TRY(file_.write(out, sizeof out - zlib_.avail_out));
    } while (zlib_.avail_out == 0);
    text.clear();
    return {};
  }

  AtomicFile& file_;
  z_stream zlib_{};
};

void quote(std::string& out, std::string_view text) { out += json_string(text); }

void put(std::string& out, const std::string& text) { quote(out, text); }
void put(std::string& out, double value) { append(out, std::isfinite(value) ? value : 0.0); }
void put(std::string& out, int64_t value) { append(out, value); }
void put(std::string& out, uint64_t value) { append(out, value); }

// Picoseconds as microseconds, all digits kept.
void put_us(std::string& out, uint64_t ps) {
  char text[40];
  std::snprintf(text, sizeof text, "%llu.%06llu", static_cast<unsigned long long>(ps / 1000000),
                static_cast<unsigned long long>(ps % 1000000));
  out += text;
}

void put_args(std::string& out, const ProfileStats& common, const ProfileStats& own) {
  bool first = true;
  for (const ProfileStats* stats : {&common, &own})
    for (const auto& [name, value] : *stats) {
      // A repeated key is no error, but readers differ in which one they keep.
      if (stats == &common &&
          std::any_of(own.begin(), own.end(), [&key = name](const auto& o) { return o.first == key; }))
        continue;
      out += first ? "" : ",";
      first = false;
      quote(out, name);
      out += ':';
      std::visit([&](const auto& v) { put(out, v); }, value);
    }
}

// What names a process or a thread, and puts it in its place.
void put_metadata(std::string& out, size_t pid, size_t tid, std::string_view what, std::string_view name) {
  append(out,
         cat(",\n{\"ph\":\"M\",\"pid\":", pid, ",\"tid\":", tid, ",\"name\":\"", what, "_name\",\"args\":{\"name\":"));
  quote(out, name);
  append(out, cat("}},\n{\"ph\":\"M\",\"pid\":", pid, ",\"tid\":", tid, ",\"name\":\"", what,
                  "_sort_index\",\"args\":{\"sort_index\":", what == "process" ? pid : tid, "}}"));
}

void put_event(std::string& out, const ProfileKind& kind, const ProfileEvent& event, size_t pid, size_t tid) {
  append(out, cat(",\n{\"ph\":\"X\",\"pid\":", pid, ",\"tid\":", tid, ",\"name\":"));
  quote(out, kind.display_name.empty() ? kind.name : kind.display_name);
  out += ",\"ts\":";
  put_us(out, event.start_ps);
  out += ",\"dur\":";
  put_us(out, event.duration_ps);
  out += ",\"args\":{";
  put_args(out, kind.stats, event.stats);
  if (event.step > 0) append(out, cat(out.back() == '{' ? "" : ",", "\"group_id\":", event.step));
  out += "}}";
}

Status put_plane(GzipText& out, const ProfilePlane& plane, size_t pid) {
  put_metadata(out.text, pid, 0, "process", plane.title);
  for (size_t l = 0; l < plane.lines.size(); ++l) put_metadata(out.text, pid, l + 1, "thread", plane.lines[l].name);
  for (size_t l = 0; l < plane.lines.size(); ++l)
    for (const ProfileEvent& event : plane.lines[l].events) {
      put_event(out.text, plane.kinds[event.kind], event, pid, l + 1);
      TENON_TRY(out.write_some());
    }
  return {};
}

Status put_space(const ProfileSpace& space, AtomicFile& file) {
  GzipText out(file);
  TENON_TRY(out.start());
  out.text += "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"host\":";
  quote(out.text, space.host);
  append(out.text, cat(",\"begin_unix_ns\":\"", space.begin_unix_ns, "\",\"warnings\":"));
  quote(out.text, join(space.warnings, "\n"));
  // The list begins with an event that says nothing, so that all others follow a comma.
  out.text += "},\"traceEvents\":[{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"trace\",\"args\":{}}";
  for (size_t p = 0; p < space.planes.size(); ++p) TENON_TRY(put_plane(out, space.planes[p], p + 1));
  out.text += "\n]}\n";
  return out.finish();
}

}  // namespace

Status write_chrome_trace(const ProfileSpace& space, const std::string& path) {
  return atomic_write(path, [&](AtomicFile& file) { return put_space(space, file); });
}

}  // namespace tenon
