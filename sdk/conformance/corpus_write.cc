// Fields stand in the order in which corpus.cc reads them.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "conformance/corpus.h"
#include "conformance/corpus_format.h"

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

void write_array(Writer& out, const tenon_array& a) {
  out.number(a.at);
  out.number(a.count);
  out.number(a.stride);
}

// The arrays of a graph, in the order in which they are stored.
std::vector<tenon_array> arrays(const tenon_graph& g) {
  return {g.values, g.nodes, g.ids, g.attrs, g.inputs, g.results, g.constants, g.strings};
}

bool equal(const plugin::FlatGraph& a, const plugin::FlatGraph& b) {
  const auto same = [](const tenon_array& x, const tenon_array& y) { return x.at == y.at && x.count == y.count && x.stride == y.stride; };
  const tenon_graph &g = *a.graph(), &h = *b.graph();
  const std::vector<tenon_array> x = arrays(g), y = arrays(h);
  return g.flags == h.flags && g.data_size == h.data_size && std::equal(x.begin(), x.end(), y.begin(), same) &&
         std::memcmp(g.data, h.data, g.data_size) == 0;
}

void write_graph(Writer& out, const plugin::FlatGraph& flat, const plugin::FlatGraph* whole) {
  if (flat.empty()) return out.number(uint32_t{kNoGraph});
  if (whole && equal(flat, *whole)) return out.number(uint32_t{kWholeGraph});
  out.number(uint32_t{kGivenGraph});
  const tenon_graph& g = *flat.graph();
  out.number(g.flags);
  for (const tenon_array& a : arrays(g)) write_array(out, a);
  out.number(g.data_size);
  out.raw(g.data, g.data_size);
}

void write_case(Writer& out, const Case& c) {
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
  write_graph(out, c.whole, nullptr);
  write_graph(out, c.lowered, &c.whole);
  write_graph(out, c.forward, nullptr);
  out.number(static_cast<uint32_t>(c.decompositions.size()));
  for (const Decomposition& d : c.decompositions) {
    out.number(d.node);
    write_graph(out, d.graph, nullptr);
  }
}

std::vector<uint8_t> pack(const std::vector<uint8_t>& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("corpus: zlib does not start");
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
  Writer out;
  out.number(kCorpusMagic);
  out.number(kCorpusVersion);
  out.number(static_cast<uint32_t>(cases.size()));
  for (const Case& c : cases) write_case(out, c);
  return pack(out.bytes());
}

}  // namespace tenon::conformance
