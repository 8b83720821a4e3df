#include <algorithm>
#include <map>

#include "compiler.h"
#include "ops.h"
#include "prelude.h"
#include "tenon/plugin/entry.h"

namespace compiler {
namespace {

using namespace tenon::plugin;

constexpr uint32_t kMaxFused = 64;  // nodes in one loop

// Memory of values by when they are needed: the first gap that is wide enough.
class Arena {
 public:
  uint64_t take(uint64_t bytes) {
    bytes = (std::max<uint64_t>(bytes, 1) + 63) / 64 * 64;
    uint64_t at = 0;
    for (const auto& [begin, end] : live_) {
      if (begin - at >= bytes) break;
      at = end;
    }
    live_[at] = at + bytes;
    size_ = std::max(size_, at + bytes);
    return at;
  }
  void give_back(uint64_t at) { live_.erase(at); }
  uint64_t size() const { return size_; }

 private:
  std::map<uint64_t, uint64_t> live_;
  uint64_t size_ = 0;
};

class Emitter {
 public:
  explicit Emitter(const GraphView& graph) : graph_(graph), values_(graph.n_values()), nodes_(graph.n_nodes()) {}

  Module emit() {
    check();
    read_nodes();
    fuse();
    find_last_uses();
    place_given();
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
      if (!nodes_[i].view && !nodes_[i].absorbed) emit_node(i);
    emit_results();
    const char* step = "void tenon_step(char* const* in, char* const* out, char* k, char* s, char* a) {\n";
    module_.source = kPrelude + functions_ + step + calls_ + "}\n";
    module_.arena_bytes = arena_.size();
    return std::move(module_);
  }

 private:
  struct Value {
    uint32_t root = TENON_NONE;     // the value whose memory it is: a reshape is only another name
    uint32_t definer = TENON_NONE;  // node
    uint32_t uses = 0;              // of a root: by nodes, and as a result
    uint32_t last_use = 0;          // of a root: after this node its memory is free
    std::string place;              // of a root: C text of its address
    bool in_arena = false;
    uint64_t arena_at = 0;
  };
  struct Node {
    bool view = false;      // a reshape
    bool absorbed = false;  // computed in the loop of node `end`
    uint32_t end = 0, size = 1;
  };

  void check() const {
    for (uint32_t v = 0; v < graph_.n_values(); ++v)
      if (const int32_t dtype = graph_.value(v).dtype(); !c_type(dtype))
        throw Error(TENON_UNSUPPORTED, std::string("compile: C has no ") + dtype_name(dtype));
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
      if (const Verdict v = verdict_of(graph_.node(i)); v.answer != TENON_TAKE)
        throw Error(TENON_UNSUPPORTED, "compile: node '" + std::string(graph_.node(i).name()) + "': " + v.reason);
  }

  Value& root(uint32_t value) { return values_[values_[value].root]; }

  void read_nodes() {
    for (uint32_t v = 0; v < graph_.n_values(); ++v) values_[v].root = v;
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      const NodeView node = graph_.node(i);
      nodes_[i].end = i;
      nodes_[i].view = node.op() == "reshape";
      for (int k = 0; k < node.results(); ++k)
        values_[node.result_id(k)].definer = values_[node.result_id(k)].last_use = i;
      if (nodes_[i].view) values_[node.result_id(0)].root = values_[node.operand_id(0)].root;
      for (int k = 0; k < node.operands() && !nodes_[i].view; ++k) ++root(node.operand_id(k)).uses;
    }
    for (uint32_t r = 0; r < graph_.n_results(); ++r) ++root(graph_.result(r).value).uses;
  }

  // An expression whose one reader is an expression of as many elements needs no memory: it is computed in that loop.
  void fuse() {
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) {
      const NodeView node = graph_.node(i);
      for (int k = 0; k < node.operands() && is_expression(node); ++k) {
        const uint32_t p = values_[node.operand_id(k)].definer;
        if (p == TENON_NONE || !is_expression(graph_.node(p)) || values_[node.operand_id(k)].uses != 1) continue;
        if (node.in(k).elements() != node.out(0).elements() || nodes_[i].size + nodes_[p].size > kMaxFused) continue;
        nodes_[p].absorbed = true;
        nodes_[p].end = i;
        nodes_[i].size += nodes_[p].size;
      }
    }
    for (uint32_t i = graph_.n_nodes(); i-- > 0;) nodes_[i].end = nodes_[nodes_[i].end].end;
  }

  void find_last_uses() {
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
      for (int k = 0; k < graph_.node(i).operands() && !nodes_[i].view; ++k) {
        uint32_t& last = root(graph_.node(i).operand_id(k)).last_use;
        last = std::max(last, nodes_[i].end);
      }
    for (uint32_t r = 0; r < graph_.n_results(); ++r) root(graph_.result(r).value).last_use = graph_.n_nodes();
    expiring_.resize(graph_.n_nodes() + 1);
    for (uint32_t v = 0; v < graph_.n_values(); ++v) expiring_[values_[v].last_use].push_back(v);
  }

  void place_given() {
    int64_t buffers = 0, scalars = 0;
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i) {
      const bool scalar = graph_.input(i).role == TENON_ROLE_SCALAR;
      values_[graph_.input(i).value].place = scalar ? "s + " + text(8 * scalars++) : "in[" + text(buffers++) + "]";
    }
    for (uint32_t i = 0; i < graph_.n_constants(); ++i) {
      const tenon_constant& c = graph_.constant(i);
      const size_t at = (module_.constants.size() + 63) / 64 * 64,
                   size = static_cast<size_t>(graph_.value(c.value).bytes());
      module_.constants.resize(at + size);
      for (size_t b = 0; b < size; b += c.bytes)
        std::copy_n(graph_.constant_data(c), std::min<size_t>(c.bytes, size - b), &module_.constants[at + b]);
      values_[c.value].place = "k + " + text(static_cast<int64_t>(at));
    }
  }

  // Adds the statements of an expression's element i, of what it absorbed first; returns its name.
  std::string element(const NodeView& node, Function& f, uint32_t& locals) {
    std::vector<std::string> operands;
    for (int k = 0; k < node.operands(); ++k) {
      const uint32_t o = node.operand_id(k), p = values_[o].definer;
      if (p != TENON_NONE && nodes_[p].absorbed)
        operands.push_back(element(graph_.node(p), f, locals));
      else
        operands.push_back(f.in(o) + (node.in(k).elements() == 1 ? "[0]" : "[i]"));
    }
    const std::string name = "v" + text(locals++);
    f.body += std::string("    const ") + c_type(node.out(0).dtype()) + " " + name + " = " +
              expression_of(node, operands) + ";\n";
    return name;
  }

  void emit_node(uint32_t i) {
    const NodeView node = graph_.node(i);
    Function f(graph_);
    if (is_expression(node)) {
      f.body = "  for (long i = 0; i < " + text(node.out(0).elements()) + "; ++i) {\n";
      uint32_t locals = 0;
      const std::string y = element(node, f, locals);
      f.body += "    " + f.out(node.result_id(0)) + "[i] = " + y + ";\n  }\n";
    } else {
      write_statements(node, f);
    }
    for (int k = 0; k < node.results(); ++k) {
      Value& v = values_[node.result_id(k)];
      v.in_arena = true;
      v.arena_at = arena_.take(static_cast<uint64_t>(node.out(k).bytes()));
      v.place = "a + " + text(static_cast<int64_t>(v.arena_at));
    }
    const uint64_t scratch = f.scratch ? arena_.take(f.scratch) : 0;
    calls_ += "  " + function(f) + "(";
    for (uint32_t v : f.arguments) calls_ += root(v).place + ", ";
    calls_ += "a + " + text(static_cast<int64_t>(scratch)) + ");\n";
    if (f.scratch) arena_.give_back(scratch);
    for (uint32_t v : expiring_[i])
      if (values_[v].in_arena) arena_.give_back(values_[v].arena_at);
  }

  // Nodes that differ in their values alone share a function.
  std::string function(const Function& f) {
    const std::string definition = f.definition();
    const auto [found, fresh] = names_.emplace(definition, "f" + text(static_cast<int64_t>(names_.size())));
    if (fresh) functions_ += "static __attribute__((noinline)) void " + found->second + definition + "\n";
    return found->second;
  }

  // Copied at the end, when every reader of a state has seen its old value; a state that is handed on, by way of the arena.
  void emit_results() {
    std::string last;
    for (uint32_t r = 0; r < graph_.n_results(); ++r) {
      std::string from = root(graph_.result(r).value).place;
      const std::string bytes = text(graph_.value(graph_.result(r).value).bytes());
      if (from.compare(0, 3, "in[") == 0) {
        const std::string stage = "a + " + text(static_cast<int64_t>(arena_.take(std::stoull(bytes))));
        calls_ += "  memcpy(" + stage + ", " + from + ", " + bytes + ");\n";
        from = stage;
      }
      last += "  memcpy(out[" + text(r) + "], " + from + ", " + bytes + ");\n";
    }
    calls_ += last;
  }

  GraphView graph_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<std::vector<uint32_t>> expiring_;  // values, by the node after which their memory is free
  std::map<std::string, std::string> names_;     // of functions, by their definition
  std::string functions_, calls_;
  Arena arena_;
  Module module_;
};

}  // namespace

Module emit(const GraphView& graph) { return Emitter(graph).emit(); }

}  // namespace compiler
