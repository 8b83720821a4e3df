// Builds the flat graph of the C ABI (tenon/abi/op.h). C++17, header only.
//
//   GraphBuilder b;
//   uint32_t x = b.input(TENON_F32, {2, 3}, TENON_ROLE_FEED, "x");
//   uint32_t y = b.value(TENON_F32, {2, 3});
//   b.node("neg", {x}, {y}).name("y");
//   b.result(y);
//   FlatGraph g = b.build();        // g.graph() is valid as long as g lives
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tenon/abi/op.h"
#include "tenon/plugin/graph.h"

namespace tenon::plugin {

// A graph and the bytes that it lies in; movable, immutable.
class FlatGraph {
 public:
  bool empty() const { return graph_.data == nullptr; }
  const tenon_graph* graph() const { return &graph_; }
  Span<uint8_t> bytes() const { return {data(), graph_.data_size}; }

 private:
  friend class GraphBuilder;
  friend FlatGraph adopt(const tenon_graph& header, const void* data);
  const uint8_t* data() const { return graph_.data; }
  std::unique_ptr<uint8_t[]> storage_;
  tenon_graph graph_{};
};

// A graph of its own from the arrays of `header` and header.data_size bytes at `data`, which are copied.
inline FlatGraph adopt(const tenon_graph& header, const void* data) {
  FlatGraph flat;
  flat.storage_.reset(new uint8_t[header.data_size + 64]);
  uint8_t* base = flat.storage_.get();
  base += (64 - reinterpret_cast<uintptr_t>(base) % 64) % 64;
  if (header.data_size) std::memcpy(base, data, header.data_size);
  flat.graph_ = header;
  flat.graph_.data = base;
  return flat;
}

class GraphBuilder {
 public:
  // A value that a node or constant() will define.
  uint32_t value(int32_t dtype, const std::vector<int64_t>& dims, std::string_view name = {}) {
    tenon_value v{};
    v.dtype = dtype;
    v.rank = static_cast<uint32_t>(dims.size());
    for (size_t i = 0; i < dims.size() && i < TENON_MAX_RANK; ++i) v.dims[i] = dims[i];
    v.name = text(name);
    values_.push_back(v);
    return static_cast<uint32_t>(values_.size() - 1);
  }
  uint32_t input(int32_t dtype, const std::vector<int64_t>& dims, tenon_role role, std::string_view name = {},
                 int32_t placement = TENON_REPLICATED) {
    const uint32_t id = value(dtype, dims, name);
    inputs_.push_back({id, role, placement, 0});
    return id;
  }
  // `bytes` is the size of the whole value, dense, or of one element that fills it.
  uint32_t constant(int32_t dtype, const std::vector<int64_t>& dims, const void* data, uint64_t bytes) {
    const uint32_t id = value(dtype, dims);
    constants_.push_back({id, 0, payload(data, bytes), bytes});
    return id;
  }
  // Dimension `axis` holds scalars[k - 1] elements at run time; its static size is the bound.
  // Returns the result's index. alias: 1 + index of the input that it updates in place, or 0.
  uint32_t result(uint32_t value, tenon_mode mode = TENON_MODE_LAST, uint32_t alias = 0,
                  int32_t placement = TENON_REPLICATED) {
    results_.push_back({value, mode, alias, placement});
    return static_cast<uint32_t>(results_.size() - 1);
  }

  // Starts a node; the calls that follow name it and give it attributes.
  GraphBuilder& node(std::string_view op, const std::vector<uint32_t>& operands, const std::vector<uint32_t>& results,
                     uint32_t version = 1) {
    tenon_node n{};
    n.op = text(op);
    n.version = version;
    n.operands = range(operands);
    n.results = range(results);
    n.attrs.first = static_cast<uint32_t>(attrs_.size());
    nodes_.push_back(n);
    return *this;
  }
  GraphBuilder& name(std::string_view name, std::string_view origin = {}) {
    nodes_.back().name = text(name);
    nodes_.back().origin = text(origin);
    return *this;
  }
  // As name(), with a number behind it where this gave the name before: graphs that are made from others have several
  // nodes of one origin, and names are unique.
  GraphBuilder& name_after(std::string_view origin) {
    std::string own(origin);
    for (int n = 1; !own.empty() && !names_.insert(own).second; ++n) own = std::string(origin) + '_' + std::to_string(n);
    return name(own);
  }
  GraphBuilder& attr(std::string_view name, int32_t type, int64_t value) { return add(name, type, &value, 8, 1); }
  GraphBuilder& attr_i64(std::string_view name, int64_t value) { return attr(name, TENON_ATTR_I64, value); }
  GraphBuilder& attr_enum(std::string_view name, int64_t value) { return attr(name, TENON_ATTR_ENUM, value); }
  GraphBuilder& attr_bool(std::string_view name, bool value) { return attr(name, TENON_ATTR_BOOL, value); }
  GraphBuilder& attr_dtype(std::string_view name, int64_t value) { return attr(name, TENON_ATTR_DTYPE, value); }
  GraphBuilder& attr_f64(std::string_view name, double value) { return add(name, TENON_ATTR_F64, &value, 8, 1); }
  GraphBuilder& attr_list(std::string_view name, const std::vector<int64_t>& v) {
    return add(name, TENON_ATTR_LIST, v.data(), v.size() * 8, v.size());
  }
  GraphBuilder& attr_bytes(std::string_view name, const void* data, uint64_t size) {
    return add(name, TENON_ATTR_BYTES, data, size, size);
  }
  // As a node of another graph has it.
  GraphBuilder& attr(const GraphView& graph, const tenon_attr& a) {
    const uint64_t bytes = a.type == TENON_ATTR_BYTES ? a.count : a.count * 8;
    return add(graph.text(a.name), a.type, graph.attr_data(a), bytes, a.count);
  }

  FlatGraph build() const {
    std::vector<uint8_t> out;
    tenon_graph g{};
    g.struct_size = sizeof g;
    out.insert(out.end(), payload_.begin(), payload_.end());  // first: attribute offsets hold as they are
    g.values = append(out, values_);
    g.nodes = append(out, nodes_);
    g.ids = append(out, ids_);
    g.attrs = append(out, attrs_);
    g.inputs = append(out, inputs_);
    g.results = append(out, results_);
    g.constants = append(out, constants_);
    g.strings = append(out, strings_);
    g.data_size = out.size();
    return adopt(g, out.data());
  }

 private:
  tenon_text text(std::string_view s) {
    const tenon_text t{static_cast<uint32_t>(strings_.size()), static_cast<uint32_t>(s.size())};
    strings_.insert(strings_.end(), s.begin(), s.end());
    strings_.push_back('\0');
    return t;
  }
  tenon_range range(const std::vector<uint32_t>& ids) {
    const tenon_range r{static_cast<uint32_t>(ids_.size()), static_cast<uint32_t>(ids.size())};
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    return r;
  }
  uint64_t payload(const void* data, uint64_t bytes) {
    payload_.resize((payload_.size() + 63) / 64 * 64);
    const uint64_t at = payload_.size();
    if (bytes) {
      const uint8_t* p = static_cast<const uint8_t*>(data);
      payload_.insert(payload_.end(), p, p + bytes);
    }
    return at;
  }
  GraphBuilder& add(std::string_view name, int32_t type, const void* data, uint64_t bytes, uint64_t count) {
    attrs_.push_back({text(name), type, 0, payload(data, bytes), count});
    ++nodes_.back().attrs.count;
    return *this;
  }
  template <class T>
  static tenon_array append(std::vector<uint8_t>& out, const std::vector<T>& items) {
    out.resize((out.size() + 63) / 64 * 64);
    const tenon_array array{out.size(), static_cast<uint32_t>(items.size()), sizeof(T)};
    const uint8_t* p = reinterpret_cast<const uint8_t*>(items.data());
    out.insert(out.end(), p, p + items.size() * sizeof(T));
    return array;
  }

  std::vector<tenon_value> values_;
  std::vector<tenon_node> nodes_;
  std::vector<uint32_t> ids_;
  std::vector<tenon_attr> attrs_;
  std::vector<tenon_input> inputs_;
  std::vector<tenon_result> results_;
  std::vector<tenon_constant> constants_;
  std::vector<char> strings_;
  std::vector<uint8_t> payload_;
  std::unordered_set<std::string> names_;  // that name_after gave
};

}  // namespace tenon::plugin
