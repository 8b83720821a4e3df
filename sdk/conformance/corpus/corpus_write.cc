// Fields stand in the order in which corpus.cc reads them.
#include <zlib.h>

#include <array>
#include <map>
#include <stdexcept>

#include "conformance/corpus/corpus.h"
#include "conformance/corpus/corpus_format.h"

namespace tenon::conformance {
namespace {

class Writer {
 public:
  template <class T>
  void number(T v) {
    raw(&v, sizeof v);
  }
  void text(const std::string& s) {
    number(static_cast<uint32_t>(s.size()));
    raw(s.data(), s.size());
  }
  void raw(const void* data, size_t n) {
    const auto* p = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), p, p + n);
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

void write_fills(Writer& out, const std::vector<Fill>& fills) {
  out.number(static_cast<uint32_t>(fills.size()));
  for (const Fill& f : fills) {
    out.number(static_cast<uint32_t>(f.kind));
    out.number(f.seed);
    out.number(f.low);
    out.number(f.high);
    out.number(static_cast<uint32_t>(f.each_step));
    out.number(static_cast<uint32_t>(f.values.size()));
    for (double v : f.values) out.number(v);
  }
}

// The tables of parts, filled as graphs come.
class Tables {
 public:
  uint32_t index(size_t table, const uint8_t* data, uint64_t size) {
    std::string part(reinterpret_cast<const char*>(data), size);
    const auto [at, added] = known_[table].try_emplace(std::move(part), static_cast<uint32_t>(order_[table].size()));
    if (added) order_[table].push_back(&at->first);
    return at->second;
  }
  void write(Writer& out) const {
    for (const auto& table : order_) {
      out.number(static_cast<uint32_t>(table.size()));
      for (const std::string* part : table) out.text(*part);
    }
  }

 private:
  std::array<std::map<std::string, uint32_t>, kParts.size()> known_;
  std::array<std::vector<const std::string*>, kParts.size()> order_;
};

void write_graph(Writer& out, Tables& tables, const plugin::FlatGraph& flat) {
  out.number(static_cast<uint32_t>(!flat.empty()));
  if (flat.empty()) return;
  const tenon_graph& g = *flat.graph();
  out.number(g.flags);
  out.number(tables.index(0, g.data, g.values.at));
  for (size_t k = 1; k < kParts.size(); ++k) {
    const tenon_array& a = g.*kParts[k].array;
    if (a.stride != kParts[k].stride)
      throw std::runtime_error("corpus: an array of a graph has stride " + std::to_string(a.stride));
    out.number(tables.index(k, g.data + a.at, uint64_t{a.count} * a.stride));
  }
}

void write_case(Writer& out, Tables& tables, const Case& c) {
  out.number(static_cast<uint32_t>(c.kind));
  out.text(c.op);
  out.text(c.name);
  out.number(static_cast<uint32_t>(c.selects));
  out.number(static_cast<uint32_t>(c.catalogue));
  out.number(c.order);
  out.number(c.steps);
  out.number(c.min_memory);
  write_fills(out, c.inputs);
  write_fills(out, c.expected);
  write_graph(out, tables, c.whole);
  write_graph(out, tables, c.lowered);
  write_graph(out, tables, c.forward);
  out.number(static_cast<uint32_t>(c.decompositions.size()));
  for (const Decomposition& d : c.decompositions) {
    out.number(d.node);
    write_graph(out, tables, d.graph);
  }
}

std::vector<uint8_t> pack(const std::vector<uint8_t>& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("corpus: zlib does not start");
  std::vector<uint8_t> out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<uint8_t*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int state = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("corpus: zlib does not finish");
  return out;
}

}  // namespace

std::vector<uint8_t> write_corpus(const std::vector<Case>& cases) {
  Tables tables;
  Writer out, body;
  for (const Case& c : cases) write_case(body, tables, c);
  out.number(kCorpusMagic);
  out.number(kCorpusVersion);
  tables.write(out);
  out.number(static_cast<uint32_t>(cases.size()));
  out.raw(body.bytes().data(), body.bytes().size());
  return pack(out.bytes());
}

}  // namespace tenon::conformance
