// Every graph of the conformance suite's corpus on three units, its inputs dealt or held by all: merged, it computes what
// it computes written three times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "conformance/corpus/corpus.h"
#include "conformance/host/lowering.h"
#include "conformance/host/subject.h"
#include "tenon/plugin/replicas.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using plugin::GraphView;
using plugin::NodeView;
using plugin::UnrolledGraph;
using reference::Tensor;

constexpr uint32_t kUnits = 3;

bool is_number(int32_t dtype) { return dtype != TENON_BOOL && dtype != TENON_U8; }

// The nodes of `graph` with these inputs SPLIT. Its results are SPLIT too, and, where they are numbers, summed over all
// units; with `sums` they are only that, as gradients are.
FlatGraph dealt(const GraphView& graph, const std::vector<bool>& split, bool sums) {
  GraphBuilder b;
  std::vector<uint32_t> id(graph.n_values(), TENON_NONE);
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) {
    const tenon_input& in = graph.input(i);
    id[in.value] = b.input(graph.value(in.value).dtype(), graph.value(in.value).dims().vec(),
                           static_cast<tenon_role>(in.role), {}, split[i] ? TENON_SPLIT : TENON_REPLICATED);
  }
  for (uint32_t i = 0; i < graph.n_constants(); ++i) {
    const tenon_constant& c = graph.constant(i);
    id[c.value] =
        b.constant(graph.value(c.value).dtype(), graph.value(c.value).dims().vec(), graph.constant_data(c), c.bytes);
  }
  for (uint32_t v = 0; v < graph.n_values(); ++v)
    if (id[v] == TENON_NONE) id[v] = b.value(graph.value(v).dtype(), graph.value(v).dims().vec());
  const auto mapped = [&](uint32_t v) { return v == TENON_NONE ? v : id[v]; };
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    std::vector<uint32_t> in, out;
    for (int k = 0; k < node.operands(); ++k) in.push_back(mapped(node.operand_id(k)));
    for (int k = 0; k < node.results(); ++k) out.push_back(mapped(node.result_id(k)));
    b.node(node.op(), in, out, node.version()).name(node.name());
    for (int k = 0; k < node.attributes(); ++k) b.attr(graph, node.attribute(k));
  }
  for (uint32_t i = 0; i < graph.n_results(); ++i) {
    const plugin::ValueView value = graph.value(graph.result(i).value);
    const uint32_t v = id[graph.result(i).value];
    if (value.rank() > 0 && !sums) b.result(v, TENON_MODE_LAST, 0, TENON_SPLIT);
    if (!is_number(value.dtype())) continue;
    const uint32_t total = b.value(value.dtype(), value.dims().vec());
    b.node("all_reduce", {v}, {total}).name("total").attr_i64("replicas", kUnits);
    b.result(total);
  }
  return b.build();
}

// What each unit has, one behind the other.
Tensor input_of(const Case& c, const GraphView& graph, uint32_t i, bool split) {
  const plugin::ValueView value = graph.value(graph.input(i).value);
  Tensor all = make_tensor(value.dtype(), value.dims().vec(), c.inputs[i]);
  if (!split) return all;
  for (uint32_t u = 1; u < kUnits; ++u) {
    Fill fill = c.inputs[i];
    fill.seed += u;
    if (fill.values.size() > 1)
      std::rotate(fill.values.begin(), fill.values.begin() + u % fill.values.size(), fill.values.end());
    const Tensor part = make_tensor(value.dtype(), value.dims().vec(), fill);
    all.f.insert(all.f.end(), part.f.begin(), part.f.end());
    all.i.insert(all.i.end(), part.i.begin(), part.i.end());
  }
  all.dims[0] *= kUnits;
  return all;
}

double precision_of(int32_t dtype) {
  return dtype == TENON_F64 ? 0x1p-36 : dtype == TENON_F32 ? 0x1p-15 : dtype == TENON_F16 ? 0x1p-8 : 0x1p-5;
}

// a and b may be sums that were added up in different orders.
void expect_alike(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.dims, b.dims) << what;
  EXPECT_EQ(a.i, b.i) << what;
  double largest = 0x1p-4;  // what cancels out was larger
  for (double x : b.f)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < a.f.size(); ++i) {
    if (a.f[i] == b.f[i] || (std::isnan(a.f[i]) && std::isnan(b.f[i]))) continue;
    ASSERT_LE(std::fabs(a.f[i] - b.f[i]), largest * precision_of(a.dtype))
        << what << " element " << i << " of " << a.f.size() << ": " << a.f[i] << ", apart " << b.f[i];
  }
}

class ReplicasOfTheCorpus : public ::testing::TestWithParam<const char*> {
 protected:
  static Subject& cpu() {
    static Subject subject(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 2);
    return subject;
  }

  void compare(const Case& c, const GraphView& graph, const std::vector<bool>& split, bool sums,
               const std::string& what) {
    const FlatGraph unit = dealt(graph, split, sums);
    const GraphView view(*unit.graph());
    for (uint32_t i = 0; i < view.n_nodes(); ++i)
      if (!plugin::unrolls(view.node(i))) return;
    const UnrolledGraph merged = plugin::unroll_replicas(view, kUnits),
                        apart = plugin::unroll_replicas(view, kUnits, {false});
    merged_nodes_ += GraphView(*merged.graph.graph()).n_nodes();
    apart_nodes_ += GraphView(*apart.graph.graph()).n_nodes();
    std::vector<Tensor> inputs;
    for (uint32_t i = 0; i < graph.n_inputs(); ++i) inputs.push_back(input_of(c, graph, i, split[i]));
    const std::vector<Tensor> a = run_graph(cpu(), *merged.graph.graph(), inputs),
                              b = run_graph(cpu(), *apart.graph.graph(), inputs);
    for (size_t r = 0; r < a.size(); ++r) expect_alike(a[r], b[r], what + ", result " + std::to_string(r));
  }

  size_t merged_nodes_ = 0, apart_nodes_ = 0;
};

// Which inputs are dealt: all, none but one, all but one.
std::vector<std::vector<bool>> deals(const GraphView& graph) {
  const uint32_t n = graph.n_inputs();
  const auto can = [&](uint32_t i) { return graph.value(graph.input(i).value).rank() > 0; };
  std::vector<bool> all(n);
  for (uint32_t i = 0; i < n; ++i) all[i] = can(i);
  std::vector<std::vector<bool>> out{all};
  for (uint32_t i = 0; i < n && n > 1; ++i) {
    if (!can(i)) continue;
    std::vector<bool> one(n), others = all;
    one[i] = true, others[i] = false;
    out.push_back(one);
    out.push_back(others);
  }
  return out;
}

std::string text_of(const std::vector<bool>& split) {
  std::string text;
  for (bool s : split) text += s ? 'S' : 'r';
  return text;
}

TEST_F(ReplicasOfTheCorpus, ComputeMergedWhatTheyComputeApart) {
  const char* only = std::getenv("TENON_TEST_OP");
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kOp || c.min_memory || case_size(c) > 1000 || (only && c.op != only)) continue;
    if (c.name.find("infinity") != std::string::npos) continue;  // which part of a sum overflows is free
    FlatGraph taken;
    try {
      taken = lowered_for(cpu(), cpu().device(), c);
    } catch (const Unsupported&) {
      continue;
    }
    const GraphView graph(*taken.graph());
    bool collective = false;
    for (uint32_t i = 0; i < graph.n_nodes(); ++i) collective = collective || graph.node(i).find("replicas");
    if (collective) continue;
    for (const std::vector<bool>& split : deals(graph))
      for (bool sums : {false, true}) {
        const std::string what = c.op + ": " + c.name + " of " + text_of(split) + (sums ? ", summed" : "");
        try {
          compare(c, graph, split, sums, what);
        } catch (const Failure& e) {
          ADD_FAILURE() << what << ": " << e.text;
        } catch (const Unsupported& e) {
          ADD_FAILURE() << what << ": " << e.reason;
        }
      }
  }
  EXPECT_LT(merged_nodes_, apart_nodes_);
}

}  // namespace
}  // namespace tenon::conformance
