#include "validation/graph_check.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "tenon/plugin/graph.h"
#include "tenon/plugin/graph_check.h"
#include "validation/report.h"

namespace tenon::plugin::validation {
namespace {

TensorType type_of(const ValueView& value) {
  TensorType t;
  t.dtype = value.dtype();
  t.rank = static_cast<uint32_t>(value.rank());
  std::copy(value.dims().begin(), value.dims().end(), t.dims);
  return t;
}

// Reads the signature of a graph whose structure is right.
class SignatureReader {
 public:
  SignatureReader(const tenon_graph& graph, uint32_t units) : view_(graph), units_(units) {}

  Signature run() {
    for (uint32_t i = 0; i < view_.n_inputs(); ++i) read_input(view_.input(i));
    for (uint32_t i = 0; i < view_.n_results(); ++i) read_result(view_.result(i));
    return std::move(out_);
  }

 private:
  void read_input(const tenon_input& in) {
    const TensorType t = buffer_type(in.value, in.placement);
    if (in.role == TENON_ROLE_SCALAR) {
      out_.scalars.push_back(t.dtype);
      out_.half_scalars |= t.dtype == TENON_BF16 || t.dtype == TENON_F16;
      buffer_of_.push_back(0);
      return;
    }
    out_.split |= in.placement == TENON_SPLIT;
    out_.n_feeds += in.role == TENON_ROLE_FEED;
    out_.buffers.push_back({t, in.role, in.placement});
    buffer_of_.push_back(static_cast<uint32_t>(out_.buffers.size()));
  }

  void read_result(const tenon_result& r) {
    out_.until |= r.mode == TENON_MODE_UNTIL;
    out_.split |= r.placement == TENON_SPLIT;
    const uint32_t buffer = r.alias ? buffer_of_[r.alias - 1] : 0;
    out_.results.push_back({buffer_type(r.value, r.placement), r.mode, r.placement, buffer});
  }

  // A buffer of what is dealt over the units holds all parts.
  TensorType buffer_type(uint32_t value, int32_t placement) const {
    TensorType t = type_of(view_.value(value));
    if (placement == TENON_SPLIT && t.rank > 0) t.dims[0] *= units_;
    return t;
  }

  GraphView view_;
  uint32_t units_;
  std::vector<uint32_t> buffer_of_;  // of each input: 1 + its place among the buffers; 0 a scalar
  Signature out_;
};

// A promise to who reads messages and profiles; no backend needs it.
void check_names(const GraphView& view) {
  std::unordered_set<std::string_view> names;
  for (uint32_t i = 0; i < view.n_nodes(); ++i) {
    const std::string_view name = view.node(i).name();
    if (!name.empty() && !names.insert(name).second) host_broke("graph: two nodes are named '", name, "'");
  }
}

}  // namespace

bool operator==(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}

Signature check_graph(const tenon_graph* graph, uint32_t units) {
  if (!graph) host_broke("passes no graph");
  if (const std::string fault = structure_fault(*graph); !fault.empty()) host_broke("graph: ", fault);
  check_names(GraphView(*graph));
  return SignatureReader(*graph, units).run();
}

uint64_t hash_graph(const tenon_graph& graph) {
  uint64_t hash = 14695981039346656037ull, at = 0;
  const auto mix = [&](uint64_t word) { hash = (hash ^ word) * 1099511628211ull; };
  for (uint64_t word = 0; at + sizeof word <= graph.data_size; at += sizeof word) {
    std::memcpy(&word, graph.data + at, sizeof word);
    mix(word);
  }
  for (; at < graph.data_size; ++at) mix(graph.data[at]);
  return hash;
}

}  // namespace tenon::plugin::validation
