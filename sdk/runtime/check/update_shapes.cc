// Shape rules of images and of updates of variables.
#include <algorithm>
#include <array>

#include "runtime/check/shape_rules.h"

namespace tenon::plugin {
namespace {

// ---- images ----

void resized(const Asked& a) {
  constexpr int64_t kMostSide = 1 << 24;
  a.rank(0, 4, 4);
  const Dims x = a.in(0);
  a.out_dtype(0, a.dtype(0));
  a.out_is(0, {x[0], a.number("h", 1, kMostSide), a.number("w", 1, kMostSide), x[3]});
}
void affine_image(const Asked& a) { resized(a), a.in_is(1, {a.in(0)[0], 8}); }
void crop_flip(const Asked& a) {
  resized(a);
  for (int i = 1; i < 4; ++i) a.in_is(i, {a.in(0)[0]});
}

// ---- updates ----

// p, g, lr, step, [scale], [gate], [rows], slots..; returns how many slots there are.
int update(const Asked& a) {
  constexpr int kRows = 6, kSlots = 7;
  constexpr std::array<int32_t, 4> kScalars{TENON_F32, TENON_I64, TENON_F32, TENON_BOOL};
  for (int i = 2; i < kRows; ++i) {
    a.in_is(i, {});
    if (a.has(i))
      if (!a.has_dtype(i, kScalars[static_cast<size_t>(i) - 2]))
        Asked::fail("operand " + std::to_string(i) + " has another dtype");
  }
  a.same_dtype(0, 1);
  Dims g = a.in(0);
  if (a.has(kRows)) {
    a.rank(0, 1, TENON_MAX_RANK), a.rank(kRows, 1, 1);
    g[0] = a.in(kRows)[0];
  }
  a.in_is(1, g), a.out_same(0, 0);
  int slots = 0;
  while (a.has(kSlots + slots)) ++slots;
  for (int i = kSlots + slots; i < a.n.operands(); ++i)
    Asked::expect(!a.has(i), "has a slot behind one that is missing");
  for (int k = 0; k < slots; ++k) a.same_dtype(0, kSlots + k);
  Asked::expect(a.n.results() <= 1 + slots, "has more results than slots");
  return slots;
}
void slot(const Asked& a, int k, const Dims& shape) {
  a.in_is(7 + k, shape), a.out_is(1 + k, shape), a.out_dtype(1 + k, a.dtype(0));
}
void pointwise_update(const Asked& a) {
  for (int k = update(a); k-- > 0;) slot(a, k, a.in(0));
}
void amsgrad_update(const Asked& a) {
  pointwise_update(a);
  Asked::expect(a.has(9) == a.n.flag("amsgrad"), "has the largest v without amsgrad, or amsgrad without it");
}
void rmsprop_update(const Asked& a) {
  pointwise_update(a);
  Asked::expect(a.has(9) == a.n.flag("centered") && (a.has(8) || a.n.f64("mu") == 0), "misses a slot, or has one more");
}
void nadam_update(const Asked& a) { update(a), slot(a, 0, a.in(0)), slot(a, 1, a.in(0)), slot(a, 2, {}); }
void adafactor_update(const Asked& a) {
  const int slots = update(a);
  const Dims p = a.in(0);
  if (!(slots == (p.size() >= 2 ? 2 : 1))) Asked::fail("has " + std::to_string(slots) + " slots");
  if (slots == 1) return slot(a, 0, p);
  const auto rank = static_cast<int64_t>(p.size());
  slot(a, 0, without(p, {rank - 1})), slot(a, 1, without(p, {rank - 2}));
}

constexpr ShapeRule kUpdateRules[] = {
    {" resize ", resized},
    {" affine_image ", affine_image},
    {" crop_flip ", crop_flip},
    {" adam_update adamw_update ", amsgrad_update},
    {" rmsprop_update ", rmsprop_update},
    {" nadam_update ", nadam_update},
    {" adafactor_update ", adafactor_update},
    {" sgd_update momentum_update adamax_update adagrad_update adadelta_update ftrl_update lamb_update lion_update ",
     pointwise_update},
};

}  // namespace

Span<ShapeRule> update_rules() { return {kUpdateRules, std::size(kUpdateRules)}; }

}  // namespace tenon::plugin
