#include "kernels/gemm/narrow.h"

#include <algorithm>

#include "kernels/dtype.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// One operand or result and where its f32 copy lies.
struct Port {
  bool there;
  int32_t dtype;
  int64_t elements;
  uint64_t at;  // in scratch, when 16-bit
};

struct Wrapped {
  Kernel inner;
  std::vector<Port> in, out;
  std::vector<plugin::Place> in_places, out_places;  // base i of `bases` below
  uint64_t inner_at = 0;
};

constexpr int kMaxPorts = 64;

void run(const Wrapped& w, const Call& call) {
  uint8_t* bases[kMaxPorts];
  uint8_t* const scratch = static_cast<uint8_t*>(call.scratch);
  const int n_in = static_cast<int>(w.in.size()), n_out = static_cast<int>(w.out.size());
  for (int i = 0; i < n_in; ++i) {
    const Port& p = w.in[i];
    if (!p.there) continue;
    const uint8_t* from = call.in<uint8_t>(i);
    bases[i] = is_half(p.dtype) ? scratch + p.at : const_cast<uint8_t*>(from);
    if (!is_half(p.dtype)) continue;
    const Slice s = call.share(p.elements, 64);
    if (s.begin < s.end)
      widen(p.dtype, from + 2 * s.begin, reinterpret_cast<float*>(bases[i]) + s.begin, s.end - s.begin);
  }
  for (int i = 0; i < n_out; ++i)
    if (w.out[i].there) bases[n_in + i] = is_half(w.out[i].dtype) ? scratch + w.out[i].at : call.out<uint8_t>(i);
  call.barrier();
  Call wide = call;
  wide.scratch = scratch + w.inner_at;
  wide.bases_ = bases;
  wide.operands_ = w.in_places.data();
  wide.results_ = w.out_places.data();
  w.inner.run(wide);
  call.barrier();
  for (int i = 0; i < n_out; ++i) {
    const Port& p = w.out[i];
    if (!p.there || !is_half(p.dtype)) continue;
    const Slice s = call.share(p.elements, 64);
    if (s.begin < s.end)
      narrow(p.dtype, reinterpret_cast<float*>(bases[n_in + i]) + s.begin, call.out<uint8_t>(i) + 2 * s.begin,
             s.end - s.begin);
  }
}

}  // namespace

Kernel narrowed(const NodeView& node, Kernel inner, const OwnPorts& own) {
  auto w = std::make_shared<Wrapped>();
  uint64_t at = 0;
  bool any = false;
  const auto port = [&](const std::vector<int>& given, int i, bool there, const auto& value) {
    Port p{there, 0, 0, 0};
    if (!there || std::count(given.begin(), given.end(), i)) return p;
    const auto v = value();
    p.dtype = v.dtype();
    p.elements = v.elements();
    if (is_half(p.dtype)) {
      any = true;
      p.at = at;
      at += (static_cast<uint64_t>(p.elements) * 4 + 63) / 64 * 64;
    }
    return p;
  };
  for (int i = 0; i < node.operands(); ++i) w->in.push_back(port(own.in, i, node.has(i), [&] { return node.in(i); }));
  for (int i = 0; i < node.results(); ++i)
    w->out.push_back(port(own.out, i, node.has_result(i), [&] { return node.out(i); }));
  if (!any || w->in.size() + w->out.size() > kMaxPorts) return inner;
  int32_t base = 0;
  for (const Port& p : w->in) w->in_places.push_back({p.there ? base : -1, 0}), ++base;
  for (const Port& p : w->out) w->out_places.push_back({p.there ? base : -1, 0}), ++base;
  Kernel outer;
  outer.threads = inner.threads;
  outer.scratch_bytes = at + inner.scratch_bytes;
  outer.thread_scratch_bytes = inner.thread_scratch_bytes;
  outer.algorithm = inner.algorithm;
  w->inner_at = at;
  w->inner = std::move(inner);
  outer.run = [w](const Call& call) { run(*w, call); };
  return outer;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
