#include "device/spread.h"

#include "tenon/plugin/geometry.h"
#include "tenon/plugin/strided.h"

namespace opencl_gpu {

using tenon::plugin::Dims;
using tenon::plugin::item;
using tenon::plugin::NodeView;
using tenon::plugin::strides_of;
using tenon::plugin::Walk;

namespace {

Walk<1> walk_of_broadcast(const NodeView& node) {
  const Dims from = strides_of(node.in(0));
  Dims strides(static_cast<size_t>(node.out(0).rank()));
  for (int i = 0; i < node.in(0).rank(); ++i)
    if (node.in(0).dim(i) != 1) strides[node.list("dims")[i]] = from[i];
  return {node.out(0).dims(), {strides}};
}

}  // namespace

SlicedFrom sliced_from(const NodeView& slice) {
  SlicedFrom out{strides_of(slice.in(0)), 0};
  for (size_t d = 0; d < out.strides.size(); ++d) {
    out.start += item(slice, "start", d, 0) * out.strides[d];
    out.strides[d] *= item(slice, "stride", d, 1);
  }
  return out;
}

Spread spread_of(const NodeView& node) {
  SlicedFrom part;
  if (node.op() == "slice") part = sliced_from(node);
  const Walk<1> walk =
      node.op() == "slice" ? Walk<1>(node.out(0).dims(), {part.strides}, {part.start}) : walk_of_broadcast(node);
  Spread spread{{}, {}, part.start};
  for (const auto& axis : walk.axes()) {
    spread.n.push_back(axis.n);
    spread.stride.push_back(axis.stride[0]);
  }
  return spread;
}

bool JointAxes::add(const Spread& spread, int64_t run) {
  std::set<int64_t> cuts = cuts_;
  int64_t distance = 1;
  for (size_t d = spread.n.size(); d-- > 0; distance *= spread.n[d]) cuts.insert(distance);
  if (cuts == cuts_) return true;
  int64_t before = 1;
  for (int64_t cut : cuts) {
    if (cut % before) return false;
    before = cut;
  }
  if (cuts.size() > kMost + 1 || *std::next(cuts.begin()) < run) return false;
  cuts_ = std::move(cuts);
  return true;
}

std::vector<int64_t> JointAxes::sizes() const {
  std::vector<int64_t> sizes;
  for (auto cut = cuts_.rbegin(); std::next(cut) != cuts_.rend(); ++cut) sizes.push_back(*cut / *std::next(cut));
  if (sizes.empty()) sizes.push_back(1);
  return sizes;
}

std::vector<int64_t> JointAxes::strides(const Spread& spread) const {
  std::vector<int64_t> strides;
  for (auto cut = std::next(cuts_.rbegin()); cut != cuts_.rend(); ++cut) {
    int64_t distance = 1, stride = *cut;
    for (size_t d = spread.n.size(); d-- > 0; distance *= spread.n[d])
      if (*cut >= distance && *cut < distance * spread.n[d]) stride = spread.stride[d] * (*cut / distance);
    strides.push_back(stride);
  }
  if (strides.empty()) strides.push_back(0);
  return strides;
}

}  // namespace opencl_gpu
