// Part of the program suite: what compile says of a program, its memory and its work.
#include <algorithm>
#include <cstring>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// s' = s + x y z, r = the sum of its rows: something to keep and something to give.
Sketch sketch_of_64_rows(int64_t n) {
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {64, n}), x = sketch.feed(TENON_F32, {64, n});
  const uint32_t updated = sketch.add(state, sketch.mul(x, sketch.mul(x, x, {64, n}), {64, n}), {64, n});
  sketch.builder.result(updated, TENON_MODE_LAST, 1);
  const uint32_t sums = sketch.node("reduce", {updated}, TENON_F32, {64});
  sketch.builder.attr_list("axes", {1}).attr_enum("kind", TENON_REDUCE_SUM);
  sketch.builder.result(sums);
  return sketch;
}

// What it says of memory: no less than what the values take, dense.
void fills_info(Subject& s) {
  const int64_t n = 500;
  const uint64_t value = 64 * n * 4;
  const plugin::FlatGraph graph = sketch_of_64_rows(n).builder.build();
  const Program program = compile(s, graph);
  const tenon_info& info = program.info();
  const auto at_least = [](const char* field, uint64_t found, uint64_t least) {
    expect(found >= least, std::string("compile's info: ") + field + " " + std::to_string(found) + ", expected " +
                               std::to_string(least) + " or more");
  };
  expect(info.struct_size <= sizeof info, "compile's info: struct_size grew to " + std::to_string(info.struct_size));
  at_least("argument_bytes", info.argument_bytes, 2 * value);
  at_least("result_bytes", info.result_bytes, 64 * 4);
  at_least("peak_bytes", info.peak_bytes, std::max({info.argument_bytes, info.result_bytes, info.workspace_bytes}));
  at_least("capacity_bytes", info.capacity_bytes, info.peak_bytes);
}

// All of them are there at once while it runs: what the caller holds, what lies between, what is part of the program.
void adds_up_the_peak(Subject& s) {
  const int64_t n = 3000;
  std::vector<float> numbers(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i)] = static_cast<float>(i % 17);
  Sketch sketch;
  const uint32_t x = sketch.feed(TENON_F32, {n}), c = sketch.builder.constant(TENON_F32, {n}, numbers.data(), 4 * n);
  const uint32_t y = sketch.mul(sketch.add(x, c, {n}), x, {n});
  const uint32_t reversed = sketch.node("reverse", {y}, TENON_F32, {n});
  sketch.builder.attr_list("axes", {0});
  sketch.builder.result(sketch.add(reversed, y, {n}));
  const Program program = compile(s, sketch.builder.build());
  const tenon_info& info = program.info();
  const uint64_t parts = info.argument_bytes + info.result_bytes + info.workspace_bytes + info.code_bytes;
  expect(info.peak_bytes >= parts, "compile's info: peak_bytes " + std::to_string(info.peak_bytes) +
                                       ", and arguments, results, workspace and code are " + std::to_string(parts));
}

void tells_work_of_programs(Subject& s) {
  const int64_t m = 24, k = 40, n = 56;
  Sketch sketch;
  const uint32_t a = sketch.state(TENON_F32, {m, k}), b = sketch.state(TENON_F32, {k, n});
  sketch.builder.result(sketch.node("dot", {a, b}, TENON_F32, {m, n}));
  const Program program = compile(s, sketch.builder.build());
  const tenon_info& info = program.info();
  if (info.flops == 0 || info.bytes_moved == 0) throw Unavailable{"the backend does not say what a program's work is"};
  const uint64_t flops = 2 * m * k * n, bytes = 4 * (m * k + k * n + m * n);
  const std::string what = "compile's info of f32[24,40] . f32[40,56]: ";
  expect(info.flops >= flops && info.flops < 2 * flops,
         what + "flops " + std::to_string(info.flops) + ", expected about " + std::to_string(flops));
  expect(info.bytes_moved >= bytes, what + "bytes_moved " + std::to_string(info.bytes_moved) + ", expected " +
                                        std::to_string(bytes) + " or more");  // more where values are padded
}

// ---- allocations ----

std::vector<tenon_allocation> allocations_of(const tenon_info& info) {
  if (info.n_allocations == 0) throw Unavailable{"the backend lists no allocations"};
  expect(info.allocations && info.allocation_stride >= TENON_SIZE(tenon_allocation, last),
         "compile's info: allocations without an array or a stride");
  std::vector<tenon_allocation> out(info.n_allocations);
  for (uint32_t i = 0; i < info.n_allocations; ++i)
    std::memcpy(&out[i], reinterpret_cast<const uint8_t*>(info.allocations) + i * info.allocation_stride,
                std::min<uint64_t>(info.allocation_stride, sizeof out[i]));
  return out;
}

void expect_sane(const tenon_allocation& a, const tenon_info& info, uint32_t nodes, const std::string& which) {
  expect(a.node < nodes && a.first <= a.last && a.last <= nodes,
         which + "node " + std::to_string(a.node) + ", alive from " + std::to_string(a.first) + " to " +
             std::to_string(a.last) + " of " + std::to_string(nodes) + " nodes");
  expect(a.dense_bytes <= a.bytes && a.offset + a.bytes <= info.workspace_bytes,
         which + std::to_string(a.bytes) + " bytes at " + std::to_string(a.offset) + " of a workspace of " +
             std::to_string(info.workspace_bytes));
}

void lists_allocations(Subject& s) {
  const plugin::FlatGraph graph = sketch_of_64_rows(500).builder.build();
  const Program program = compile(s, graph);
  const std::vector<tenon_allocation> all = allocations_of(program.info());
  for (size_t i = 0; i < all.size(); ++i)
    expect_sane(all[i], program.info(), graph.graph()->nodes.count, "allocation " + std::to_string(i) + ": ");
}

// A chain whose values all have sizes of their own, so that each allocation shows whose it is, and which grow, so that
// nothing is made in place: node i makes 4096 (i + 2) bytes, and node i + 1 reads it.
plugin::FlatGraph chain_of_sizes(uint32_t nodes) {
  Sketch sketch;
  uint32_t last = sketch.state(TENON_F32, {1024});
  for (uint32_t i = 0; i < nodes; ++i) {
    last = sketch.node("pad", {last}, TENON_F32, {1024 * (int64_t{i} + 2)});
    sketch.builder.attr_list("low", {1024}).attr_list("high", {0});
  }
  const uint32_t sum = sketch.node("reduce", {last}, TENON_F32, {});
  sketch.builder.attr_list("axes", {0}).attr_enum("kind", TENON_REDUCE_SUM);
  sketch.builder.result(sum);
  // The last node's is alive to the end: a state cannot be reversed in its own place.
  const int64_t n = 50 * 1024;
  const uint32_t state = sketch.state(TENON_F32, {n}), reversed = sketch.node("reverse", {state}, TENON_F32, {n});
  sketch.builder.attr_list("axes", {0});
  sketch.builder.result(reversed, TENON_MODE_LAST, 2);
  return sketch.builder.build();
}

// The first node that writes an allocation makes something that it has room for, and nothing else lies there meanwhile.
void names_the_node_of_an_allocation(Subject& s) {
  const plugin::FlatGraph graph = chain_of_sizes(6);
  const plugin::GraphView view(*graph.graph());
  const Program program = compile(s, graph);
  const std::vector<tenon_allocation> all = allocations_of(program.info());
  for (size_t i = 0; i < all.size(); ++i) {
    const tenon_allocation& a = all[i];
    const std::string which = "allocation " + std::to_string(i) + ": ";
    expect_sane(a, program.info(), view.n_nodes(), which);
    for (uint32_t n = 0; n < view.n_nodes(); ++n) {
      const bool made = static_cast<uint64_t>(view.node(n).out(0).bytes()) == a.dense_bytes;
      const bool writes = static_cast<uint64_t>(view.node(a.node).out(0).bytes()) == a.dense_bytes;
      expect(!made || writes, which + std::to_string(a.dense_bytes) + " bytes, which node " + std::to_string(n) +
                                  " makes, are said to be written first by node " + std::to_string(a.node));
    }
    for (size_t k = 0; k < i; ++k) {
      const tenon_allocation& b = all[k];
      const bool together = a.first <= b.last && b.first <= a.last;
      expect(!together || a.offset >= b.offset + b.bytes || b.offset >= a.offset + a.bytes,
             which + "lies where allocation " + std::to_string(k) + " does, while both are alive");
    }
  }
}

}  // namespace

void add_info_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) { add_test(tests, "program", "info", name, run, 1); };
  add("of memory", fills_info);
  add("of all memory at once", adds_up_the_peak);
  add("of work", tells_work_of_programs);
  add("of allocations", lists_allocations);
  add("of each node's allocation", names_the_node_of_an_allocation);
}

}  // namespace tenon::conformance
