#include "import/onnx/file/scan.h"

#include "base/room.h"
#include "base/strings.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMostThings = int64_t{1} << 24;  // nodes, names, attributes: a million nodes have some 10 million
constexpr int kMostDepth = 64;                     // of graphs in graphs
constexpr uint64_t kBytesAThing = 192;             // in memory, about

// Messages whose fields hold messages.
enum class Message : uint8_t { kNone, kModel, kGraph, kNode, kAttribute, kTensor, kFunction, kValue, kType };

Message message_in(Message parent, uint64_t field) {
  switch (parent) {
    case Message::kModel:
      return field == 7 ? Message::kGraph : field == 25 ? Message::kFunction : Message::kNone;
    case Message::kGraph:
      if (field == 1) return Message::kNode;
      if (field == 5) return Message::kTensor;
      return field >= 11 && field <= 13 ? Message::kValue : Message::kNone;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kNone;
    case Message::kAttribute:
      if (field == 5 || field == 10) return Message::kTensor;
      return field == 6 || field == 11 ? Message::kGraph : Message::kNone;
    case Message::kFunction:
      return field == 7 ? Message::kNode : field == 11 ? Message::kAttribute : Message::kNone;
    case Message::kValue:
      return field == 2 ? Message::kType : Message::kNone;
    case Message::kType:  // and what is in it
      return Message::kType;
    default:
      return Message::kNone;
  }
}

class Scan {
 public:
  Status message(std::string_view bytes, Message kind, int depth) {
    if (depth > kMostDepth) return invalid("messages in messages, more than ", kMostDepth);
    while (!bytes.empty()) {
      uint64_t tag = 0;
      if (!number(bytes, tag) || tag >> 3 == 0) return truncated();
      TENON_TRY(field(bytes, tag, kind, depth));
    }
    return {};
  }
  int64_t things() const { return things_; }

 private:
  static Status truncated() { return invalid("it is cut off or no ONNX model"); }

  static bool number(std::string_view& bytes, uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes.empty()) return false;
      const auto byte = static_cast<uint8_t>(bytes[0]);
      bytes.remove_prefix(1);
      out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  Status field(std::string_view& bytes, uint64_t tag, Message kind, int depth) {
    uint64_t size = 0;
    switch (tag & 7) {
      case 0:
        return number(bytes, size) ? Status() : truncated();
      case 1:
        size = 8;
        break;
      case 5:
        size = 4;
        break;
      case 2:
        if (!number(bytes, size)) return truncated();
        if (++things_ > kMostThings) return invalid("it has more than ", kMostThings, " nodes, names and attributes");
        break;
      default:
        return truncated();
    }
    if (size > bytes.size()) return truncated();
    const Message inner = (tag & 7) == 2 ? message_in(kind, tag >> 3) : Message::kNone;
    // In a type some fields are text, which may look like anything.
    if (inner != Message::kNone && inner != Message::kType) TENON_TRY(message(bytes.substr(0, size), inner, depth + 1));
    if (inner == Message::kType) things_ += static_cast<int64_t>(size / 4);
    bytes.remove_prefix(size);
    return {};
  }

  int64_t things_ = 0;
};

}  // namespace

Status scan_model(std::string_view bytes) {
  Scan scan;
  TENON_TRY(scan.message(bytes, Message::kModel, 0));
  return take_room(static_cast<uint64_t>(scan.things()) * kBytesAThing + bytes.size(), "an ONNX model");
}

}  // namespace tenon::onnx
