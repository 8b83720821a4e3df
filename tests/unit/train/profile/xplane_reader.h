// Reads an XSpace by field numbers alone, without the classes that wrote it.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::xplane_reader {

// A message as what its fields hold, by number, in the order in which they stand.
class Message {
 public:
  explicit Message(std::string_view bytes) {
    while (!bytes.empty()) {
      const uint64_t tag = varint(bytes);
      const uint32_t number = static_cast<uint32_t>(tag >> 3);
      if ((tag & 7) == 0)
        numbers_[number].push_back(varint(bytes));
      else if ((tag & 7) == 1)
        numbers_[number].push_back(fixed64(bytes));
      else if ((tag & 7) == 2)
        texts_[number].push_back(text(bytes));
      else
        throw std::runtime_error("wire type " + std::to_string(tag & 7));
    }
  }
  bool has(uint32_t field) const { return numbers_.contains(field) || texts_.contains(field); }
  uint64_t number(uint32_t field) const { return numbers_.contains(field) ? numbers_.at(field).back() : 0; }
  std::string text(uint32_t field) const { return texts_.contains(field) ? texts_.at(field).back() : ""; }
  std::vector<std::string> texts(uint32_t field) const {
    return texts_.contains(field) ? texts_.at(field) : std::vector<std::string>();
  }
  std::vector<Message> messages(uint32_t field) const {
    std::vector<Message> out;
    for (const std::string& t : texts(field)) out.emplace_back(t);
    return out;
  }

 private:
  static uint64_t varint(std::string_view& in) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<unsigned char>(in.at(0));
      in.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw std::runtime_error("an endless varint");
  }
  static uint64_t fixed64(std::string_view& in) {
    if (in.size() < 8) throw std::runtime_error("a short fixed64");
    uint64_t value;
    std::memcpy(&value, in.data(), 8);
    in.remove_prefix(8);
    return value;
  }
  static std::string text(std::string_view& in) {
    const uint64_t n = varint(in);
    if (n > in.size()) throw std::runtime_error("a field that ends behind its message");
    const std::string out(in.substr(0, n));
    in.remove_prefix(n);
    return out;
  }

  std::map<uint32_t, std::vector<uint64_t>> numbers_;
  std::map<uint32_t, std::vector<std::string>> texts_;
};

// Stats as text, by name.
using Stats = std::map<std::string, std::string>;

struct Event {
  std::string name, display_name;
  uint64_t offset_ps, duration_ps;
  Stats stats;  // its own and those of its metadata
};

struct Line {
  std::string name;
  uint64_t timestamp_ns;
  std::vector<Event> events;
};

struct Plane {
  std::string name;
  std::map<std::string, Line> lines;
  Stats stats;
};

struct Space {
  std::map<std::string, Plane> planes;
  std::vector<std::string> warnings, hosts;
};

inline std::map<uint64_t, Message> numbered(const Message& plane, uint32_t field) {
  std::map<uint64_t, Message> out;
  for (const Message& entry : plane.messages(field)) {
    const Message value(entry.text(2));
    if (value.number(1) != entry.number(1)) throw std::runtime_error("metadata under another number than its own");
    out.emplace(entry.number(1), value);
  }
  return out;
}

inline std::string value_of(const Message& stat, const std::map<uint64_t, Message>& names) {
  if (stat.has(2)) {
    double value;
    const uint64_t bits = stat.number(2);
    std::memcpy(&value, &bits, sizeof value);
    return std::to_string(value);
  }
  if (stat.has(3)) return std::to_string(stat.number(3));
  if (stat.has(4)) return std::to_string(static_cast<int64_t>(stat.number(4)));
  if (stat.has(7)) return names.at(stat.number(7)).text(2);
  return stat.text(5);
}

inline void read_stats(const Message& from, uint32_t field, const std::map<uint64_t, Message>& names, Stats& out) {
  for (const Message& stat : from.messages(field)) out[names.at(stat.number(1)).text(2)] = value_of(stat, names);
}

inline Plane read_plane(const Message& plane) {
  const std::map<uint64_t, Message> events = numbered(plane, 4), names = numbered(plane, 5);
  Plane out{plane.text(2), {}, {}};
  read_stats(plane, 6, names, out.stats);
  for (const Message& line : plane.messages(3)) {
    Line& to = out.lines[line.text(2)];
    to.name = line.text(2);
    to.timestamp_ns = line.number(3);
    for (const Message& event : line.messages(4)) {
      const Message& metadata = events.at(event.number(1));
      to.events.push_back({metadata.text(2), metadata.text(4), event.number(2), event.number(3), {}});
      read_stats(metadata, 5, names, to.events.back().stats);
      read_stats(event, 4, names, to.events.back().stats);
    }
  }
  return out;
}

inline Space read(std::string_view bytes) {
  const Message space(bytes);
  Space out{{}, space.texts(3), space.texts(4)};
  for (const Message& plane : space.messages(1)) {
    Plane read = read_plane(plane);
    const std::string name = read.name;
    if (!out.planes.emplace(name, std::move(read)).second) throw std::runtime_error("two planes of one name");
  }
  return out;
}

}  // namespace tenon::xplane_reader
