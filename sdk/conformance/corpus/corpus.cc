#include "conformance/corpus/corpus.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "conformance/corpus/corpus_format.h"
#include "tenon/plugin/graph_check.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // of a corpus unpacked: more is a file that wants our memory

[[noreturn]] void fail(const std::string& text) { throw std::runtime_error("corpus: " + text); }

std::vector<uint8_t> unpack(const void* gzip, uint64_t bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) fail("zlib does not start");
  std::vector<uint8_t> out;
  const auto* at = static_cast<const uint8_t*>(gzip);
  int state = Z_OK;
  while (state == Z_OK && out.size() < kMostBytes) {
    if (stream.avail_in == 0 && bytes > 0) {
      stream.next_in = const_cast<uint8_t*>(at);
      stream.avail_in = static_cast<uInt>(std::min<uint64_t>(bytes, 1u << 30));
      at += stream.avail_in, bytes -= stream.avail_in;
    }
    const size_t done = out.size();
    out.resize(done + std::max<size_t>(1u << 20, done / 2));
    stream.next_out = out.data() + done;
    stream.avail_out = static_cast<uInt>(out.size() - done);
    state = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  const bool whole = state == Z_STREAM_END && stream.avail_in == 0 && bytes == 0;
  const std::string where = " after byte " + std::to_string(stream.total_in);
  inflateEnd(&stream);
  if (!whole) fail("is no complete gzip file: it is damaged or ends" + where);
  return out;
}

class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T v;
    std::memcpy(&v, take(sizeof v), sizeof v);
    return v;
  }
  bool flag() { return limited(1, "a flag") != 0; }
  uint32_t limited(uint32_t most, const char* what) {
    const uint64_t at = at_;
    const auto v = number<uint32_t>();
    if (v > most)
      wrong(at, std::string(what) + " is " + std::to_string(v) + ", expected at most " + std::to_string(most));
    return v;
  }
  // A number of items of at least `width` bytes each: no more than there is room for.
  uint32_t count(uint64_t width, const char* what) {
    return limited(static_cast<uint32_t>(std::min<uint64_t>((bytes_.size() - at_) / width, UINT32_MAX)), what);
  }
  std::string text() {
    const uint32_t n = count(1, "the length of a text");
    return std::string(reinterpret_cast<const char*>(take(n)), n);
  }
  const uint8_t* take(uint64_t n) {
    if (n > bytes_.size() - at_) wrong(at_, "ends, expected " + std::to_string(n) + " bytes more");
    const uint8_t* p = bytes_.data() + at_;
    at_ += n;
    return p;
  }
  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }
  [[noreturn]] static void wrong(uint64_t at, const std::string& what) {
    fail("byte " + std::to_string(at) + " unpacked: " + what);
  }

 private:
  const std::vector<uint8_t>& bytes_;
  uint64_t at_ = 0;
};

Fill read_fill(Reader& in) {
  Fill f;
  f.kind = static_cast<Fill::Kind>(in.limited(Fill::kPowers, "the kind of a fill"));
  f.seed = in.number<uint64_t>();
  f.low = in.number<double>();
  f.high = in.number<double>();
  f.each_step = in.flag();
  f.values.resize(in.count(sizeof(double), "the number of values of a fill"));
  for (double& v : f.values) v = in.number<double>();
  if (f.kind == Fill::kValues && f.values.empty()) Reader::wrong(in.at(), "a fill has no values");
  return f;
}

std::vector<Fill> read_fills(Reader& in) {
  std::vector<Fill> out;
  for (uint32_t n = in.count(32, "the number of fills"); n > 0; --n) out.push_back(read_fill(in));
  return out;
}

struct Bytes {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};
using Parts = std::array<std::vector<Bytes>, kParts.size()>;

Parts read_parts(Reader& in) {
  Parts parts;
  for (std::vector<Bytes>& table : parts)
    for (uint32_t n = in.count(sizeof(uint32_t), "the number of parts of graphs"); n > 0; --n) {
      const uint32_t size = in.count(1, "the size of a part of a graph");
      table.push_back({in.take(size), size});
    }
  return parts;
}

void append(std::vector<uint8_t>& out, const Bytes& part) { out.insert(out.end(), part.data, part.data + part.size); }

plugin::FlatGraph read_graph(Reader& in, const Parts& parts) {
  const uint64_t start = in.at();
  if (!in.flag()) return {};
  tenon_graph g{};
  g.struct_size = sizeof g;
  g.flags = in.number<uint64_t>();
  std::vector<uint8_t> data;
  for (size_t k = 0; k < kParts.size(); ++k) {
    const auto index = in.number<uint32_t>();
    if (index >= parts[k].size()) Reader::wrong(start, "a part of the graph here is not there");
    const Bytes& part = parts[k][index];
    if (kParts[k].array) {
      data.resize((data.size() + kPartAlignment - 1) / kPartAlignment * kPartAlignment);
      g.*kParts[k].array = {data.size(), static_cast<uint32_t>(part.size / kParts[k].stride), kParts[k].stride};
    }
    append(data, part);
  }
  g.data_size = data.size();
  plugin::FlatGraph flat = plugin::adopt(g, data.data());
  const std::string problem = plugin::structure_fault(*flat.graph());
  if (!problem.empty()) Reader::wrong(start, "the graph here is wrong: " + problem);
  return flat;
}

// Whether two graphs of a case have inputs of the same types in the same places.
bool same_inputs(const tenon_graph& a, const tenon_graph& b) {
  const plugin::GraphView x(a), y(b);
  if (x.n_inputs() != y.n_inputs()) return false;
  for (uint32_t i = 0; i < x.n_inputs(); ++i) {
    const plugin::ValueView p = x.value(x.input(i).value), q = y.value(y.input(i).value);
    if (p.dtype() != q.dtype() || p.dims().vec() != q.dims().vec()) return false;
  }
  return true;
}

void check_case(const Case& c, uint64_t at) {
  const auto expect = [at, &c](bool condition, const char* problem) {
    if (!condition) Reader::wrong(at, "the case " + c.op + " '" + c.name + "' " + problem);
  };
  expect(!c.whole.empty() && !c.lowered.empty(), "has no graph");
  const plugin::GraphView whole(*c.whole.graph()), lowered(*c.lowered.graph());
  expect(c.inputs.size() == whole.n_inputs(), "has another number of fills than its graph has inputs");
  expect(c.expected.size() == (c.min_memory ? whole.n_results() : 0),
         "has another number of expected results than its graph");
  expect(same_inputs(*c.whole.graph(), *c.lowered.graph()) && lowered.n_results() == whole.n_results(),
         "is lowered to other inputs or results");
  expect(c.forward.empty() || same_inputs(*c.whole.graph(), *c.forward.graph()), "has a forward graph of other inputs");
  expect(c.forward.empty() == (c.kind != Case::kGradient),
         "has a forward graph and is no gradient, or has none and is one");
  for (const Decomposition& d : c.decompositions)
    expect(d.node < whole.n_nodes() && !d.graph.empty(), "decomposes a node that is not there");
}

Case read_case(Reader& in, const Parts& parts) {
  const uint64_t start = in.at();
  Case c;
  c.kind = static_cast<Case::Kind>(in.limited(Case::kInference, "the kind of a case"));
  c.op = in.text();
  c.name = in.text();
  c.selects = in.flag();
  c.catalogue = in.flag();
  c.order = in.number<double>();
  c.steps = in.number<uint32_t>();
  c.min_memory = in.number<uint64_t>();
  c.inputs = read_fills(in);
  c.expected = read_fills(in);
  c.whole = read_graph(in, parts);
  c.lowered = read_graph(in, parts);
  c.forward = read_graph(in, parts);
  c.decompositions.resize(in.count(8, "the number of decompositions"));
  for (Decomposition& d : c.decompositions) {
    d.node = in.number<uint32_t>();
    d.graph = read_graph(in, parts);
  }
  check_case(c, start);
  return c;
}

}  // namespace

uint64_t case_size(const Case& c) {
  const plugin::GraphView view(*c.whole.graph());
  uint64_t n = 0;
  for (uint32_t i = 0; i < view.n_inputs(); ++i) n += static_cast<uint64_t>(view.value(view.input(i).value).elements());
  for (uint32_t i = 0; i < view.n_results(); ++i)
    n += static_cast<uint64_t>(view.value(view.result(i).value).elements());
  return n;
}

std::vector<Case> read_corpus(const void* gzip, uint64_t bytes) {
  const std::vector<uint8_t> unpacked = unpack(gzip, bytes);
  Reader in(unpacked);
  if (in.number<uint64_t>() != kCorpusMagic) Reader::wrong(0, "is no corpus");
  const auto version = in.number<uint32_t>();
  if (version != kCorpusVersion)
    Reader::wrong(8, "version " + std::to_string(version) + ", expected " + std::to_string(kCorpusVersion));
  const Parts parts = read_parts(in);
  std::vector<Case> cases;
  for (uint32_t n = in.count(64, "the number of cases"); n > 0; --n) cases.push_back(read_case(in, parts));
  if (in.left()) Reader::wrong(in.at(), "has " + std::to_string(in.left()) + " bytes too many");
  return cases;
}

}  // namespace tenon::conformance
