#include "kernels/conv/gather/conv_gather.h"

#include "kernels/conv/direct/conv_groups.h"
#include "kernels/conv/pooled/conv_pool.h"
#include "kernels/dtype.h"
#include "kernels/movement/transpose.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kBlockFloats = 48 * 1024;  // of a source block with halo: 192 KB, in L2
constexpr int64_t kMapFloats = 64 * 1024;    // of a block's results that are pooled: 256 KB, in L2
constexpr int64_t kPieceDepth = 384;         // x 16 weights: 24 KB
constexpr int64_t kUnits = 8;                // enough pieces of work for a few threads
constexpr int64_t kManyWeights = 64 * 1024;  // floats that are not worth packing for a few blocks
constexpr int64_t kFreshColumns = 128;       // packed at once: rows of weights are read in long stretches

// Offset of a point in an image of `size` with c channels.
int64_t offset(const Point& at, const Point& size, int64_t c) {
  return ((at[0] * size[1] + at[1]) * size[2] + at[2]) * c;
}

int first_axis(const GatherPlan& p) {
  int axis = 2;
  for (const GatherPhase& g : p.phases) axis = std::min(axis, block_axis(g.count));
  return axis;
}

Point most_points(const GatherPlan& p) {
  Point count{{1, 1, 1}};
  for (const GatherPhase& g : p.phases)
    for (int d = 0; d < 3; ++d) count[d] = std::max(count[d], g.count[d]);
  return count;
}

bool reads_inside(const GatherPlan& p) {
  bool inside = true;
  for (const GatherPhase& g : p.phases)
    for (int d = 0; d < 3 && g.taps.product() != 0; ++d)
      inside = inside && g.first[d] >= 0 &&
               g.first[d] + (g.taps[d] - 1) * g.step[d] + (g.count[d] - 1) * p.from_step[d] < p.from[d];
  return inside;
}

// Panels of n columns.
int64_t panels(int64_t n) {
  int64_t count = 0;
  for (int64_t j = 0; j < n; j += panel_columns(n - j)) ++count;
  return count;
}

}  // namespace

Gather::Gather(GatherPlan plan) : p_(std::move(plan)) {
  axis_ = first_axis(p_);
  double work = 0;
  for (const GatherPhase& g : p_.phases)
    work += 2.0 * static_cast<double>(p_.batch * g.count.product()) *
            static_cast<double>(g.taps.product() * p_.from_c / p_.groups * p_.to_c);
  threads_ = work < 1e5 ? 1 : plugin::kAllThreads;
  if (p_.groups > 1 && p_.from_c == p_.to_c && is_narrow(p_.to_c / p_.groups)) narrow_ = p_.to_c / p_.groups;
  choose_blocks();
  for (const GatherPhase& g : p_.phases) {
    Phase phase;
    phase.weights = weights_;
    lay_out(g, &phase);
    if (narrow_ == 0 && fresh_ == 0) {
      list_packs(g, phase);
      weights_ += phase.depth * p_.groups * packed_columns(p_.to_c / p_.groups);
    }
    phases_.push_back(std::move(phase));
  }
  if (narrow_ > 1 && p_.transposed) weights_ = p_.kernel.product() * narrow_ * p_.to_c;
}

Point Gather::set_low() {
  Point high;
  for (int d = 0; d < 3; ++d) {
    low_[d] = INT64_MAX;
    high[d] = INT64_MIN;
    for (const GatherPhase& g : p_.phases) {
      if (g.taps.product() == 0) continue;
      low_[d] = std::min(low_[d], g.first[d]);
      high[d] = std::max(high[d], g.first[d] + (g.taps[d] - 1) * g.step[d]);
    }
    if (low_[d] > high[d]) low_[d] = high[d] = 0;
  }
  return high;
}

void Gather::choose_blocks() {
  const Point high = set_low(), count = most_points(p_);
  direct_ = reads_inside(p_) && !p_.pooled_from;
  length_ = count[axis_];
  for (int d = 0; d < 3; ++d) extent_[d] = (count[d] - 1) * p_.from_step[d] + high[d] - low_[d] + 1;
  const int64_t slab = extent_.product() / extent_[axis_] * p_.from_c;
  rows_ = length_;
  const auto span = [&](int64_t rows) { return (rows - 1) * p_.from_step[axis_] + high[axis_] - low_[axis_] + 1; };
  const int64_t others = count.product() / length_, unit = p_.pooled_to ? 2 : 1;
  const bool staged = p_.pooled_to || p_.pairs;
  int64_t row = p_.to_c * p_.to_step[axis_];  // floats of a step along the axis, where a block is one stretch
  for (int d = axis_ + 1; d < 3; ++d) row *= p_.to[d];
  int64_t most = std::max<int64_t>(1, (kBlockFloats / slab - span(1)) / p_.from_step[axis_] + 1);
  if (staged) most = std::min(most, kMapFloats / row);
  most = std::max(most, unit);
  if (most < rows_) rows_ = ceil_div(rows_, ceil_div(rows_, most));
  rows_ = round_up(rows_, unit);
  const int64_t few = p_.batch * ceil_div(length_, rows_);
  const bool fresh = !p_.pairs && !p_.transposed && p_.groups == 1 && few <= 4 &&
                     p_.kernel.product() * p_.from_c * p_.to_c >= kManyWeights;
  while (threads_ > 1 && !fresh && p_.batch * ceil_div(length_, rows_) < kUnits && rows_ > unit && rows_ * others > 48)
    rows_ = round_up(ceil_div(rows_, 2), unit);
  blocks_ = ceil_div(length_, rows_);
  if (threads_ > 1 && p_.groups == 1) parts_ = std::min(panels(p_.to_c), ceil_div(kUnits, p_.batch * blocks_));
  if (fresh) {
    parts_ = std::min(panels(p_.to_c), std::max(parts_, ceil_div(p_.to_c, kFreshColumns)));
    fresh_ =
        kPieceDepth * round_up(ceil_div(panels(p_.to_c), parts_) * kPanelColumns + kMostColumns - kPanelColumns, 16);
  }
  extent_[axis_] = span(rows_);
  source_ = direct_ ? 0 : round_up(extent_.product() * p_.from_c, 16);
  map_ = staged ? rows_ * row : 0;
  pitch_ = direct_ ? p_.from : extent_;
  if (direct_) low_ = Point{{0, 0, 0}};
}

void Gather::lay_out(const GatherPhase& g, Phase* phase) const {
  Point q, in_block = g.count;
  in_block[axis_] = std::min(in_block[axis_], rows_);
  for (q[0] = 0; q[0] < in_block[0]; ++q[0])
    for (q[1] = 0; q[1] < in_block[1]; ++q[1])
      for (q[2] = 0; q[2] < in_block[2]; ++q[2]) {
        Point from, to;
        for (int d = 0; d < 3; ++d) {
          from[d] = q[d] * p_.from_step[d];
          to[d] = q[d] * p_.to_step[d] + g.to_first[d];
        }
        phase->from_rows.push_back(offset(from, pitch_, p_.from_c));
        phase->to_rows.push_back(offset(to, p_.to, p_.to_c));
      }
  phase->points = in_block.product() / std::max<int64_t>(1, in_block[axis_]);
  const int64_t c = p_.from_c / p_.groups;
  const bool joined = p_.groups == 1 && (g.step[2] == 1 || g.taps[2] == 1);
  const auto tap = [&](const Point& t) {
    Point at;
    for (int d = 0; d < 3; ++d) at[d] = g.tap_first[d] + t[d] * g.tap_step[d];
    return offset(at, p_.kernel, std::max<int64_t>(1, narrow_) * p_.to_c);
  };
  Point t;
  for (t[0] = 0; t[0] < g.taps[0]; ++t[0])
    for (t[1] = 0; t[1] < g.taps[1]; ++t[1])
      for (t[2] = 0; t[2] < (joined ? 1 : g.taps[2]); ++t[2]) {
        Point at;
        for (int d = 0; d < 3; ++d) at[d] = g.first[d] - low_[d] + t[d] * g.step[d];
        phase->runs.push_back(offset(at, pitch_, p_.from_c));
        phase->taps.push_back(tap(t));
      }
  phase->depth = g.taps.product() * c;
  if (phase->depth > 0) cut_pieces(phase);
}

void Gather::cut_pieces(Phase* phase) const {
  const int64_t n = static_cast<int64_t>(phase->runs.size()), length = phase->depth / n;
  if (p_.tiles) return phase->pieces.push_back({0, n, 0, length, 0});  // they cut by themselves
  const int64_t cuts = ceil_div(length, kPieceDepth), cut = round_up(ceil_div(length, cuts), 8);
  const int64_t fit = std::max<int64_t>(1, kPieceDepth / length), some = ceil_div(n, ceil_div(n, fit));
  for (int64_t r = 0; r < n; r += some)
    for (int64_t k = 0; k < length; k += cut)
      phase->pieces.push_back({r, std::min(some, n - r), k, std::min(cut, length - k), r * length + k});
}

void Gather::list_packs(const GatherPhase& g, const Phase& phase) {
  const int64_t from_c = p_.from_c / p_.groups, to_c = p_.to_c / p_.groups;
  Point t, at;
  for (int64_t group = 0; group < p_.groups; ++group)
    for (int64_t j = 0, columns; j < to_c; j += columns) {
      columns = panel_columns(to_c - j);
      int64_t to = phase.weights + (group * packed_columns(to_c) + j) * phase.depth;
      for (t[0] = 0; t[0] < g.taps[0]; ++t[0])
        for (t[1] = 0; t[1] < g.taps[1]; ++t[1])
          for (t[2] = 0; t[2] < g.taps[2]; ++t[2]) {
            for (int d = 0; d < 3; ++d) at[d] = g.tap_first[d] + t[d] * g.tap_step[d];
            const int64_t tap = offset(at, p_.kernel, 1);
            const int64_t from = p_.transposed ? (tap * to_c + j) * p_.from_c + group * from_c
                                               : tap * (p_.pairs ? 2 : 1) * from_c * p_.to_c + group * to_c + j;
            packs_.push_back({from, to, columns});
            to += from_c * padded_columns(columns);
          }
    }
}

void Gather::pack(const Call& call, const float* weights) const {
  float* const packed = static_cast<float*>(call.scratch);
  const int64_t depth = p_.from_c / p_.groups;
  const Slice part = call.share(static_cast<int64_t>(packs_.size()));
  for (int64_t i = part.begin; i < part.end; ++i) {
    const Pack& k = packs_[static_cast<size_t>(i)];
    const int64_t width = padded_columns(k.columns);
    float* const to = packed + k.to;
    if (p_.pairs && !p_.transposed) {
      const uint16_t* const from = reinterpret_cast<const uint16_t*>(weights) + k.from;
      pair_panels(from, from + p_.to_c, depth, k.columns, 2 * p_.to_c, depth, to);
      continue;
    }
    if (!p_.transposed) {
      pack_panels(weights + k.from, depth, k.columns, p_.to_c, depth, to);
      continue;
    }
    if (k.columns < width) std::fill(to, to + depth * width, 0.0f);
    transpose(weights + k.from, k.columns, depth, p_.from_c, to, width);
  }
  call.barrier();
}

// [tap][channel of dy's group][channel of dx] from [tap][channel of x's group][channel of y].
void Gather::pack_narrow(const Call& call, const float* weights) const {
  float* const packed = static_cast<float*>(call.scratch);
  const int64_t g = narrow_, size = g * p_.to_c;
  const Slice part = call.share(p_.kernel.product());
  for (int64_t t = part.begin; t < part.end; ++t)
    for (int64_t j = 0; j < g; ++j)
      for (int64_t c = 0; c < p_.to_c; ++c)
        packed[t * size + j * p_.to_c + c] = weights[t * size + c % g * p_.to_c + c / g * g + j];
  call.barrier();
}

void Gather::run(const Call& call, const ConvData& d) const {
  if (weights_ > 0) narrow_ > 0 ? pack_narrow(call, d.weights) : pack(call, d.weights);
  float* const room = static_cast<float*>(call.thread_scratch);
  const Slice part = call.share(p_.batch * blocks_ * parts_);
  int64_t copied = -1;
  for (int64_t u = part.begin; u < part.end; ++u) {
    const int64_t at = u / parts_, image = at / blocks_, q = at % blocks_ * rows_;
    const float* from = d.from + image * p_.from.product() * p_.from_c;
    Point first = low_, to{{0, 0, 0}};
    first[axis_] += q * p_.from_step[axis_];
    to[axis_] = q * p_.to_step[axis_];
    if (!direct_ && copied != at) fill_source(d, image, first, room);
    copied = at;
    const int64_t to_at = image * p_.to.product() * p_.to_c + offset(to, p_.to, p_.to_c);
    Block b;
    b.from = direct_ ? from + offset(first, p_.from, p_.from_c) : room;
    b.weights = weights_ > 0 ? static_cast<const float*>(call.scratch) : d.weights;
    b.fresh = room + source_;
    b.residual = d.residual ? d.residual + to_at : nullptr;
    b.to = map_ > 0 ? room + round_up(source_ + fresh_, 16) : d.to + to_at;
    b.part = u % parts_;
    b.next = u + 1 < part.end ? d.weights + panels(p_.to_c) * ((u + 1) % parts_) / parts_ * kPanelColumns : nullptr;
    block(d, b, q);
    if (map_ > 0) p_.pairs ? round(d, b, image, q) : pool(d, b, image, q);
    if (d.visitor) hand_over(d, at, image, q, channels(b.part));
  }
}

void Gather::fill_source(const ConvData& d, int64_t image, const Point& first, float* room) const {
  if (p_.pooled_from) {
    const int64_t at = image * pooled_size(p_.from).product() * p_.from_c;
    return unpool_halo(d.from + at, d.winner + at, p_.from, p_.from_c, first, extent_, p_.from_c, room);
  }
  copy_halo(d.from + image * p_.from.product() * p_.from_c, p_.from, p_.from_c, first, extent_, p_.from_c, room);
}

Slice Gather::channels(int64_t part) const {
  if (parts_ == 1) return {0, p_.to_c};
  const int64_t count = panels(p_.to_c);
  return {count * part / parts_ * kPanelColumns,
          part + 1 == parts_ ? p_.to_c : count * (part + 1) / parts_ * kPanelColumns};
}

bool Gather::is_whole(const GatherPlan& p) {
  bool whole = true;
  for (int d = 0; d < first_axis(p); ++d) whole = whole && p.to[d] == 1;
  return whole;
}

int64_t Gather::parts() const { return !p_.pooled_to && is_whole(p_) ? p_.batch * blocks_ : 0; }

// The points of the result of a block that starts at row q of a phase.
PointRun Gather::points_of(int64_t image, int64_t q) const {
  int64_t others = 1;
  for (int i = axis_ + 1; i < 3; ++i) others *= p_.to[i];
  const int64_t first = q * p_.to_step[axis_], last = std::min((q + rows_) * p_.to_step[axis_], p_.to[axis_]);
  return {image * p_.to.product() + first * others, (last - first) * others};
}

void Gather::hand_over(const ConvData& d, int64_t part, int64_t image, int64_t q, Slice channels) const {
  const PointRun run = points_of(image, q);
  d.visitor->visit(d.visitor->context, part, &run, 1, channels);
}

// The block's sums as bf16, in the columns of its part.
void Gather::round(const ConvData& d, const Block& b, int64_t image, int64_t q) const {
  const auto [first, points] = points_of(image, q);
  const auto [begin, end] = channels(b.part);
  uint16_t* const to = reinterpret_cast<uint16_t*>(d.to) + first * p_.to_c;
  if (parts_ == 1) return TENON_CPU_ISA::narrow(TENON_BF16, b.to, to, points * p_.to_c);
  for (int64_t at = begin, p = 0; p < points; ++p, at += p_.to_c)
    TENON_CPU_ISA::narrow(TENON_BF16, b.to + at, to + at, end - begin);
}

// Pools the rows of a block, which start at row q, in the columns of its part.
void Gather::pool(const ConvData& d, const Block& b, int64_t image, int64_t q) const {
  const int64_t width = p_.to[2], row = width / 2 * p_.to_c;
  const auto [begin, end] = channels(b.part);
  const int64_t rows = std::min(rows_, length_ - q);
  int64_t to = (image * p_.to[1] / 2 + q / 2) * row;
  for (int64_t i = 0; i < rows; i += 2, to += row)
    pool_rows(b.to + i * width * p_.to_c, width, width, p_.to_c, begin, end, d.to + to, d.to_winner + to);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
