// GFLOP/s of convolutions, matrix products and pools on one and two threads, beside this machine's peak.
// usage: op_conv_bench [rounds] [part of a name] [1: one thread only] [avx2 | avx512: the kernels of]
// Minima of short rounds: on a busy machine only those on one thread mean something, which are of its CPU time.
// "F4" lines: 3x3 convolutions by plain sums (precision HIGHEST) and as the rule chooses, beside each other.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tenon/plugin/graph_builder.h"
#include "tenon/plugin/kernel.h"

namespace tenon::cpu::avx2 {
void add_matmul(plugin::KernelTable&);
void add_convolution(plugin::KernelTable&);
void add_pooling(plugin::KernelTable&);
}  // namespace tenon::cpu::avx2
namespace tenon::cpu::avx512 {
void fill_table(plugin::KernelTable&);
}  // namespace tenon::cpu::avx512

namespace {

using namespace tenon::plugin;
using Dims = std::vector<int64_t>;
using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

int64_t product(const Dims& d) {
  int64_t n = 1;
  for (int64_t x : d) n *= x;
  return n;
}

// Memory as the runtime gives it: aligned, huge pages where possible.
float* floats(int64_t n) {
  const size_t bytes = (static_cast<size_t>(n) * 4 + (2u << 20)) >> 21 << 21;
  auto* p = static_cast<float*>(std::aligned_alloc(2u << 20, bytes + (2u << 20)));
  for (int64_t i = 0; i < n; ++i) p[i] = static_cast<float>(i * 7919 % 1013) / 1013.f - 0.5f;
  return p;
}

struct Node {
  std::string op;
  std::vector<Dims> in;
  Dims out;
  double flops;
  std::function<void(GraphBuilder&)> attributes;
};

// What the calling thread has used.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Least seconds of one run on `threads` threads.
double measure(const KernelTable& table, const Node& n, uint32_t threads, int rounds,
               int32_t precision = TENON_PRECISION_DEFAULT) {
  GraphBuilder builder;
  std::vector<uint32_t> ids;
  for (const Dims& d : n.in) ids.push_back(builder.input(TENON_F32, d, TENON_ROLE_FEED));
  const uint32_t out = builder.value(TENON_F32, n.out);
  n.attributes(builder.node(n.op, ids, {out}).name("n"));
  const FlatGraph flat = builder.build();
  const NodeView node = GraphView(*flat.graph()).node(0);
  Env env;
  env.threads = threads;
  env.precision = precision;
  const Kernel kernel = table.find(n.op, 1)->make(node, env);
  const uint32_t gang = std::min(threads, kernel.threads);
  std::vector<uint8_t*> bases;
  std::vector<Place> ins;
  for (const Dims& d : n.in) {
    ins.push_back({static_cast<int32_t>(bases.size()), 0});
    bases.push_back(reinterpret_cast<uint8_t*>(floats(product(d))));
  }
  const Place result{static_cast<int32_t>(bases.size()), 0};
  bases.push_back(reinterpret_cast<uint8_t*>(floats(product(n.out))));
  bases.push_back(reinterpret_cast<uint8_t*>(floats(static_cast<int64_t>(kernel.scratch_bytes) / 4 + 16)));
  uint8_t* const scratch = bases.back();
  for (uint32_t i = 0; i < gang; ++i)
    bases.push_back(reinterpret_cast<uint8_t*>(floats(static_cast<int64_t>(kernel.thread_scratch_bytes) / 4 + 16)));
  Barrier inner, outer;
  double best = 1e9;
  const int repeat = std::max(1, static_cast<int>(2e7 * gang / (n.flops + 1e2)));
  const auto part = [&](uint32_t i) {
    Call call;
    call.index = i;
    call.count = gang;
    call.scratch = scratch;
    call.thread_scratch = bases[bases.size() - gang + i];
    call.bases_ = bases.data();
    call.operands_ = ins.data();
    call.results_ = &result;
    call.barrier_ = &inner;
    for (int r = 0; r < rounds; ++r) {
      outer.arrive_and_wait(gang);
      const auto from = Clock::now();
      const double cpu = cpu_seconds();
      for (int k = 0; k < repeat; ++k) {
        kernel.run(call);
        outer.arrive_and_wait(gang);
      }
      if (i == 0) best = std::min(best, (gang == 1 ? cpu_seconds() - cpu : seconds(from)) / repeat);
    }
  };
  std::vector<std::thread> team;
  for (uint32_t i = 1; i < gang; ++i) team.emplace_back(part, i);
  part(0);
  for (auto& t : team) t.join();
  for (uint8_t* b : bases) std::free(b);
  return best;
}

// GFLOP/s of ten independent chains of FMAs.
__attribute__((target("avx2,fma"))) double peak_of_one(int rounds) {
  typedef float V __attribute__((vector_size(32)));
  double best = 0;
  for (int r = 0; r < rounds; ++r) {
    V a = {}, b = {}, c = {}, d = {}, e = {}, f = {}, g = {}, h = {}, i = {}, j = {}, x = {};
    const auto from = Clock::now();
    for (int n = 0; n < 5000; ++n)
      asm volatile(
          "vfmadd231ps %10, %10, %0\n vfmadd231ps %10, %10, %1\n vfmadd231ps %10, %10, %2\n"
          "vfmadd231ps %10, %10, %3\n vfmadd231ps %10, %10, %4\n vfmadd231ps %10, %10, %5\n"
          "vfmadd231ps %10, %10, %6\n vfmadd231ps %10, %10, %7\n vfmadd231ps %10, %10, %8\n"
          "vfmadd231ps %10, %10, %9"
          : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h), "+x"(i), "+x"(j)
          : "x"(x));
    best = std::max(best, 5000.0 * 10 * 16 / seconds(from) / 1e9);
  }
  return best;
}

struct Conv {
  int64_t batch, size, c, o, kernel, stride, pad, groups = 1;
};

Node conv_node(const std::string& op, const Conv& c) {
  const int64_t out = (c.size + 2 * c.pad - c.kernel) / c.stride + 1;
  const Dims x = {c.batch, c.size, c.size, c.c}, y = {c.batch, out, out, c.o},
             w = {c.kernel, c.kernel, c.c / c.groups, c.o};
  Node n;
  n.op = op;
  n.flops = 2.0 * static_cast<double>(product(y)) * static_cast<double>(c.kernel * c.kernel * c.c / c.groups);
  n.attributes = [=](GraphBuilder& b) {
    b.attr_list("strides", {c.stride, c.stride}).attr_list("low", {c.pad, c.pad}).attr_list("high", {c.pad, c.pad});
    b.attr_list("dilation", {1, 1}).attr_i64("groups", c.groups);
    if (op == "conv_bias_act") b.attr_enum("act", TENON_ACT_RELU);
  };
  if (op == "conv_bias_act") n.in = {x, w, {c.o}}, n.out = y;
  if (op == "conv_grad_input") n.in = {y, w}, n.out = x;
  if (op == "conv_grad_filter") n.in = {x, y}, n.out = w;
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const char* filter = argc > 2 ? argv[2] : "";
  const uint32_t most = argc > 3 && argv[3][0] == '1' ? 1 : 2;
  KernelTable table;
  if (argc > 4 && std::strcmp(argv[4], "avx512") == 0) {
    tenon::cpu::avx512::fill_table(table);
  } else {
    tenon::cpu::avx2::add_matmul(table);
    tenon::cpu::avx2::add_convolution(table);
    tenon::cpu::avx2::add_pooling(table);
  }
  const double peak = peak_of_one(2000);
  std::printf("peak of one core %.0f GFLOP/s\n%-30s %8s  GFLOP/s on 1, 2 threads (%% of peak)\n", peak, "", "ms on 2");
  const auto line = [&](const std::string& name, const Node& n) {
    if (name.find(filter) == std::string::npos) return;
    const double one = measure(table, n, 1, rounds), two = most == 1 ? one : measure(table, n, 2, rounds);
    std::printf("%-36s %9.4f  %6.1f (%2.0f)  %6.1f (%2.0f)\n", name.c_str(), two * 1e3, n.flops / one / 1e9,
                n.flops / one / 1e7 / peak, n.flops / two / 1e9, n.flops / two / 2e7 / peak);
    std::fflush(stdout);
  };
  const std::pair<const char*, Conv> winograds[] = {
      {"56 64>64", {16, 56, 64, 64, 3, 1, 1}},     {"28 128>128", {16, 28, 128, 128, 3, 1, 1}},
      {"14 256>256", {16, 14, 256, 256, 3, 1, 1}}, {"7 512>512", {16, 7, 512, 512, 3, 1, 1}},
      {"32 16>16", {128, 32, 16, 16, 3, 1, 1}},    {"16 32>32", {128, 16, 32, 32, 3, 1, 1}},
      {"8 64>64", {128, 8, 64, 64, 3, 1, 1}},      {"90 16>32", {32, 90, 16, 32, 3, 1, 1}},
      {"45 32>64", {32, 45, 32, 64, 3, 1, 1}},
  };
  for (const auto& [name, c] : winograds)
    for (const char* op : {"conv_bias_act", "conv_grad_input", "conv_grad_filter"}) {
      const std::string whole = std::string("F4 ") + name + " " + op;
      if (whole.find(filter) == std::string::npos) continue;
      const Node n = conv_node(op, c);
      double ms[2] = {1e9, 1e9};
      for (int i = 0; i < 6; ++i)
        ms[i % 2] = std::min(ms[i % 2], 1e3 * measure(table, n, most, (rounds + 2) / 3,
                                                      i % 2 ? TENON_PRECISION_DEFAULT : TENON_PRECISION_HIGHEST));
      std::printf("%-36s direct %8.3f ms %6.1f  chosen %8.3f ms %6.1f  ratio %.2f\n", whole.c_str(), ms[0],
                  n.flops / ms[0] / 1e6, ms[1], n.flops / ms[1] / 1e6, ms[0] / ms[1]);
      std::fflush(stdout);
    }
  const std::pair<const char*, Conv> convs[] = {
      {"28 1>32", {16, 28, 1, 32, 3, 1, 0}},
      {"13 32>64", {16, 13, 32, 64, 3, 1, 0}},
      {"180 3>16", {2, 180, 3, 16, 3, 1, 1}},
      {"90 16>32", {2, 90, 16, 32, 3, 1, 1}},
      {"45 32>64", {2, 45, 32, 64, 3, 1, 1}},
      {"299 3>10 5x5", {1, 299, 3, 10, 5, 1, 2}},
      {"149 10>20 5x5", {1, 149, 10, 20, 5, 1, 2}},
      {"32 16>16", {16, 32, 16, 16, 3, 1, 1}},
      {"16 32>32", {16, 16, 32, 32, 3, 1, 1}},
      {"8 64>64", {16, 8, 64, 64, 3, 1, 1}},
      {"32 16>32 s2", {16, 32, 16, 32, 3, 2, 1}},
      {"56 64>64", {2, 56, 64, 64, 3, 1, 1}},
      {"28 128>128", {2, 28, 128, 128, 3, 1, 1}},
      {"14 256>256", {2, 14, 256, 256, 3, 1, 1}},
      {"7 512>512", {4, 7, 512, 512, 3, 1, 1}},
      {"56 64>256 1x1", {2, 56, 64, 256, 1, 1, 0}},
      {"56 256>64 1x1", {2, 56, 256, 64, 1, 1, 0}},
      {"14 1024>256 1x1", {4, 14, 1024, 256, 1, 1, 0}},
      {"56 256>512 1x1 s2", {2, 56, 256, 512, 1, 2, 0}},
      {"224 3>64 7x7 s2", {1, 224, 3, 64, 7, 2, 3}},
      {"56 128 depthwise", {2, 56, 128, 128, 3, 1, 1, 128}},
      {"56 64>64 batch 1", {1, 56, 64, 64, 3, 1, 1}},
      {"7 512>512 batch 1", {1, 7, 512, 512, 3, 1, 1}},
  };
  for (const auto& [name, c] : convs)
    for (const char* op : {"conv_bias_act", "conv_grad_input", "conv_grad_filter"})
      line(std::string(name) + " " + op, conv_node(op, c));
  const std::pair<Dims, bool> products[] = {
      {{16, 16, 4}, false},     {{16, 16, 16}, false},      {{16, 16, 16}, true},        {{16, 3, 16}, false},
      {{64, 128, 784}, false},  {{64, 10, 128}, false},     {{64, 64, 64}, false},       {{2048, 512, 512}, false},
      {{2048, 512, 512}, true}, {{2048, 2048, 512}, false}, {{2048, 32000, 512}, false}, {{2048, 512, 32000}, true},
      {{1, 1000, 2048}, false}, {{1, 1000, 2048}, true},    {{32, 128, 10368}, false}};
  for (const auto& [s, tb] : products)
    for (bool ta : {false, true}) {
      Node n;
      n.op = "dot_bias_act";
      n.in = {ta ? Dims{s[2], s[0]} : Dims{s[0], s[2]}, tb ? Dims{s[1], s[2]} : Dims{s[2], s[1]}, {s[1]}};
      n.out = {s[0], s[1]};
      n.flops = 2.0 * static_cast<double>(s[0]) * static_cast<double>(s[1] * s[2]);
      n.attributes = [ta, tb = tb](GraphBuilder& b) {
        b.attr_bool("ta", ta).attr_bool("tb", tb).attr_enum("act", TENON_ACT_RELU);
      };
      line("dot " + std::to_string(s[0]) + "x" + std::to_string(s[1]) + "x" + std::to_string(s[2]) + (ta ? " ta" : "") +
               (tb ? " tb" : ""),
           n);
    }
  for (int64_t c : {16, 32, 64}) {
    const Dims x = {32, 90, 90, c}, y = {32, 45, 45, c};
    const auto window = [](GraphBuilder& b) { b.attr_list("window", {2, 2}).attr_list("strides", {2, 2}); };
    line("max_pool (GB/s) " + std::to_string(c), {"max_pool", {x}, y, 4.0 * double(product(x) + product(y)), window});
    line("max_pool_grad (GB/s) " + std::to_string(c),
         {"max_pool_grad", {x, y, y}, x, 4.0 * double(2 * product(x) + 2 * product(y)), window});
  }
  return 0;
}
