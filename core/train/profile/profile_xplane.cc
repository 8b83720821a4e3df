#include <google/protobuf/arena.h>

#include <algorithm>

#include "base/file/file.h"
#include "train/profile/profile_space.h"
#include "xplane.pb.h"

namespace tenon {
namespace {

// One plane. Numbers of metadata begin with 1: 0 is what a reader takes for absent.
class PlaneWriter {
 public:
  PlaneWriter(const ProfileSpace& space, xplane::XPlane& out) : space_(space), out_(out) {}

  void write(const ProfilePlane& plane, int64_t id) {
    out_.set_id(id);
    out_.set_name(plane.name);
    for (size_t k = 0; k < plane.kinds.size(); ++k) write(plane.kinds[k], static_cast<int64_t>(k) + 1);
    for (size_t l = 0; l < plane.lines.size(); ++l) write(plane.lines[l], plane.kinds, static_cast<int64_t>(l) + 1);
    write(plane.stats, out_);
  }

 private:
  void write(const ProfileKind& kind, int64_t id) {
    xplane::XEventMetadata& to = (*out_.mutable_event_metadata())[id];
    to.set_id(id);
    to.set_name(kind.name);
    if (!kind.display_name.empty()) to.set_display_name(kind.display_name);
    write(kind.stats, to);
  }

  void write(const ProfileLine& line, const std::vector<ProfileKind>& kinds, int64_t id) {
    xplane::XLine& to = *out_.add_lines();
    to.set_id(id);
    to.set_display_id(id);
    to.set_name(line.name);
    to.set_timestamp_ns(static_cast<int64_t>(space_.begin_unix_ns));
    uint64_t end = 0;
    for (const ProfileEvent& event : line.events) {
      xplane::XEvent& e = *to.add_events();
      e.set_metadata_id(static_cast<int64_t>(event.kind) + 1);
      e.set_offset_ps(static_cast<int64_t>(event.start_ps));
      e.set_duration_ps(static_cast<int64_t>(event.duration_ps));
      write_event_stats(kinds[event.kind].stats, event.stats, e);
      if (event.step > 0) write({{"group_id", event.step}}, e);
      end = std::max(end, event.start_ps + event.duration_ps);
    }
    to.set_duration_ps(static_cast<int64_t>(end));
  }

  template <class Message>
  void write(const ProfileStats& stats, Message& to) {
    for (const auto& [name, value] : stats) {
      xplane::XStat& stat = *to.add_stats();
      stat.set_metadata_id(number_of(name));
      std::visit([&](const auto& v) { set(stat, v); }, value);
    }
  }

  // With those of its kind, for readers that look there: texts as references.
  void write_event_stats(const ProfileStats& common, const ProfileStats& own, xplane::XEvent& to) {
    for (const ProfileStats* stats : {&own, &common})
      for (const auto& [name, value] : *stats) {
        const auto same = [&name = name](const auto& o) { return o.first == name; };
        if (stats == &common && std::any_of(own.begin(), own.end(), same)) continue;
        xplane::XStat& stat = *to.add_stats();
        stat.set_metadata_id(number_of(name));
        if (const auto* text = std::get_if<std::string>(&value))
          stat.set_ref_value(static_cast<uint64_t>(number_of(*text)));
        else
          std::visit([&](const auto& v) { set(stat, v); }, value);
      }
  }

  static void set(xplane::XStat& stat, int64_t value) { stat.set_int64_value(value); }
  static void set(xplane::XStat& stat, uint64_t value) { stat.set_uint64_value(value); }
  static void set(xplane::XStat& stat, double value) { stat.set_double_value(value); }
  static void set(xplane::XStat& stat, const std::string& value) { stat.set_str_value(value); }

  int64_t number_of(const std::string& name) {
    const auto [at, fresh] = stats_.try_emplace(name, static_cast<int64_t>(stats_.size()) + 1);
    if (fresh) {
      xplane::XStatMetadata& to = (*out_.mutable_stat_metadata())[at->second];
      to.set_id(at->second);
      to.set_name(name);
    }
    return at->second;
  }

  const ProfileSpace& space_;
  xplane::XPlane& out_;
  std::map<std::string, int64_t> stats_;
};

}  // namespace

Status write_xplane(const ProfileSpace& space, const std::string& path) {
  google::protobuf::Arena arena;
  auto& out = *google::protobuf::Arena::CreateMessage<xplane::XSpace>(&arena);
  for (size_t p = 0; p < space.planes.size(); ++p)
    PlaneWriter(space, *out.add_planes()).write(space.planes[p], static_cast<int64_t>(p) + 1);
  for (const std::string& warning : space.warnings) out.add_warnings(warning);
  out.add_hostnames(space.host);
  std::string bytes;
  if (!out.SerializeToString(&bytes)) return Status(Code::kInternal, "a profile is too large to be written: " + path);
  return atomic_write(path, bytes);
}

}  // namespace tenon
