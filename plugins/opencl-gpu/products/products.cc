// dot: a [P.., M, K] (ta: [P.., K, M]), b [P.., K, N] (tb: [P.., N, K]) -> [P.., M, N].
// dot_bias_act: act(dot(a, b) + bias [N] + residual [P.., M, N]).
#include <limits>
#include <vector>

#include "device/kernel_sources.h"
#include "device/table.h"
#include "fuse/joint_products.h"
#include "products/products_parts.h"
#include "tenon/plugin/typed_table.h"

namespace opencl_gpu {

namespace {

// One product of the node.
Product dense(const NodeView& node, int64_t m, int64_t n, int64_t k) {
  const bool ta = node.flag("ta"), tb = node.flag("tb");
  Product s;
  s.m = m, s.n = n, s.k = k;
  s.a_row = ta ? 1 : s.k, s.a_column = ta ? s.m : 1;
  s.b_inner = s.k, s.b_row = tb ? 1 : s.n, s.b_column = tb ? s.k : 1;
  s.c_row = s.n;
  s.set_alpha(node.f64("alpha"));
  return s;
}

Product product_of(const NodeView& node) {
  const ValueView a = node.in(own::product::a), y = node.out(own::product::out::c);
  Product s = dense(node, y.dim(-2), y.dim(-1), a.dim(node.flag("ta") ? -2 : -1));
  s.batch = y.elements() / (s.m * s.n);
  s.a_batch = s.m * s.k, s.b_batch = s.k * s.n, s.c_batch = s.m * s.n;
  return s;
}

AIs matrix_of(const NodeView& node) { return node.flag("ta") ? AIs::kTransposedMatrix : AIs::kMatrix; }

// fuse/joint_products.h has the node.
Kernel joint_product(const NodeView& node, const Env& env) {
  const std::vector<int64_t> sizes = node.list("sizes").vec();
  ProductKind kind = kind_of(node, matrix_of(node));
  kind.members = static_cast<int>(node.i64("members")), kind.residual = false;
  Product s = dense(node, sizes[0], sizes[1], sizes[2]);
  s.batch = kind.members;
  Kernel kernel = product_kernel(node, env, s, kind);
  kernel.algorithm += ", " + std::to_string(kind.members) + " at once";
  return kernel;
}

Kernel plain_kernel(Driver& driver, const Product& s, const ProductKind& kind) {
  Launch launch =
      Launch::of_text(driver, ending_text("product_plain"), "product_plain", product_options(kind) + end_options(kind));
  launch.value(ended(s, kind)).in(own::product::a).in(own::product::b);
  add_epilogue(launch, kind);
  add_members(launch.out(own::product::out::c), kind, {});
  return kernel_of({launch.items(static_cast<uint64_t>(s.batch * s.m * s.n))});
}

}  // namespace

std::string tile_source() {
  return std::string(kernel_source("product")) + kernel_source("lanes") + kernel_source("product_tile");
}

std::string ending_text(const char* file) {
  return std::string(kernel_source("product")) + kernel_source("activation") + kernel_source("product_end") +
         kernel_source(file);
}

std::string product_options(const ProductKind& kind) {
  return std::string("-D T=") + dtype_name(kind.dtype) + " -D A_IS=" + std::to_string(static_cast<int>(kind.a)) +
         (kind.members > 1 ? " -D JOINT" : "");
}

std::string end_options(const ProductKind& kind) {
  return std::string(" -D R=") + dtype_name(kind.result) + " -D ACT=" + std::to_string(kind.act);
}

bool ends_at_once(const ProductKind& kind) { return kind.result == kind.wide() && kind.act <= TENON_ACT_RELU; }

void add_epilogue(Launch& launch, const ProductKind& kind) {
  kind.bias ? launch.in(own::product::bias) : launch.out(own::product::out::c);
  kind.residual ? launch.in(own::product::residual) : launch.out(own::product::out::c);
}

void add_members(Launch& launch, const ProductKind& kind, const Places& places) {
  if (kind.members == 1) return;
  for (int i = 1; i < kMostProducts; ++i) {
    const int member = i < kind.members ? i : 0;  // those that are not there are not read
    places.b ? launch.scratch(*places.b) : launch.in(own::product::b_of(member));
    kind.bias ? launch.in(own::product::bias_of(member)) : launch.out(member);
    places.c ? launch.scratch(*places.c) : launch.out(member);
  }
}

Product ended(Product s, const ProductKind& kind) {
  s.bias = kind.bias, s.residual = kind.residual;
  s.floor = kind.act == TENON_ACT_RELU ? 0 : -std::numeric_limits<float>::infinity();
  return s;
}

Product in_parts(Product s, int64_t chunks) {
  s.chunks = static_cast<cl_int>(chunks);
  s.c_row = s.n, s.c_batch = s.m * s.n;
  s.floor = -std::numeric_limits<float>::infinity();
  return s;
}

Launch sum_of_parts(Driver& driver, const Product& s, const ProductKind& kind, int64_t chunks, uint64_t parts_at) {
  Product whole = ended(s, kind);
  whole.chunks = static_cast<cl_int>(chunks);
  ProductKind any = kind;
  any.a = AIs::kMatrix;
  Launch sum =
      Launch::of_text(driver, ending_text("product_parts"), "sum_parts", product_options(any) + end_options(kind));
  sum.value(whole).scratch(parts_at);
  add_epilogue(sum, kind);
  add_members(sum.out(own::product::out::c), kind, {});
  sum.items(static_cast<uint64_t>(s.batch * s.m * s.n), 1);
  return sum;
}

ProductKind kind_of(const NodeView& node, AIs a) {
  ProductKind kind;
  kind.a = a;
  kind.dtype = node.in(own::product::a).dtype(), kind.result = node.out(own::product::out::c).dtype();
  if (!node.find("act")) return kind;
  kind.act = node.enumerator("act");
  kind.bias = node.has(own::product::bias), kind.residual = node.has(own::product::residual);
  return kind;
}

Kernel product_kernel(const NodeView& node, const Env& env, const Product& s, const ProductKind& kind) {
  Driver& driver = driver_of(*env.device);
  constexpr int64_t kFew = 1 << 14;
  const bool few = s.batch * s.m * s.n * s.k <= kFew;
  Kernel kernel = few                                   ? plain_kernel(driver, s, kind)
                  : driver.style() == KernelStyle::kCpu ? cpu_product_kernel(node, env, s, kind)
                                                        : gpu_product_kernel(node, env, s, kind);
  kernel.algorithm = few ? "gemm, an element a work item" : "gemm, " + kernel.algorithm;
  return kernel;
}

void add_products(KernelTable& table) {
  const auto make = [](const NodeView& node, const Env& env) {
    return product_kernel(node, env, product_of(node), kind_of(node, matrix_of(node)));
  };
  for (const char* op : {"dot", "dot_bias_act"}) table.add(op, tenon::plugin::takes<tenon::plugin::Floats>(), make);
  table.add_own(kProducts, joint_product);
}

}  // namespace opencl_gpu
