#include "kernels/conv/direct/depthwise.h"

#include "kernels/conv/direct/depthwise_filter_tile.h"
#include "kernels/conv/direct/depthwise_tile.h"
#include "kernels/conv/gather/gather_plan.h"
#include "kernels/dtype.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kDepthwiseBlock = 64 * 1024;  // elements of a block's result: 256 KB of f32, in L2
constexpr int64_t kDepthwiseNear = 64 * 1024;   // of the source's rows that taps read again: 256 KB, in L2
constexpr int64_t kDepthwiseFar = 8 << 20;      // elements of a result that caches do not keep
constexpr int64_t kDepthwiseUnits = 8;          // enough pieces of work for a few threads
constexpr int64_t kDepthwiseChunks = 12;        // of points, whose sums are added in order

// Channels at a time, so that what is read again is near.
int64_t near_channels(int64_t elements, int64_t channels) {
  const int64_t most = std::max<int64_t>(kDepthwiseNear / std::max<int64_t>(elements, 1) / 16 * 16, 16);
  return most >= channels ? channels : std::min(channels, round_up(ceil_div(channels, ceil_div(channels, most)), 16));
}

// Points of c channels as points of c x m: each channel m times, one after the other.
template <class T>
void repeat_channels(const T* from, int64_t n, int64_t m, T* to) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) to[i * m + j] = from[i];
}

// n sums of m elements.
void add_neighbours(const float* from, int64_t n, int64_t m, float* to) {
  for (int64_t i = 0; i < n; ++i) {
    float sum = from[i * m];
    for (int64_t j = 1; j < m; ++j) sum += from[i * m + j];
    to[i] = sum;
  }
}

// The map, or the gradient of the input. With m filters a channel the source's channels are repeated, or neighbours in the
// result added, a block at a time.
template <class T>
class Depthwise {
 public:
  explicit Depthwise(const ConvProblem& problem)
      : p_(gather_plan(problem)), filters_(std::max(p_.from_c, p_.to_c)), m_(filters_ / std::min(p_.from_c, p_.to_c)) {
    for (const GatherPhase& g : p_.phases) length_ = std::max(length_, g.count[1]);
    threads_ = problem.shape.flops() < 1e5 ? 1 : plugin::kAllThreads;
    rows_ = std::clamp<int64_t>(kDepthwiseBlock / (p_.to_step[1] * p_.to[2] * filters_), 1, length_);
    while (threads_ > 1 && p_.batch * ceil_div(length_, rows_) < kDepthwiseUnits && rows_ > 2)
      rows_ = ceil_div(rows_, 2);
    rows_ = std::min(length_, round_up(rows_, 2));
    blocks_ = ceil_div(length_, rows_);
    const GatherPhase& g = p_.phases[0];
    const int64_t reach = (g.taps[1] - 1) * g.step[1] + 1;
    near_ = near_channels((reach + p_.from_step[1]) * p_.from[2], filters_);
    const int64_t rows =
        p_.transposed ? rows_ * p_.to_step[1] : std::min(p_.from[1], (rows_ - 1) * p_.from_step[1] + reach);
    if (m_ > 1) room_ = rows * (p_.transposed ? p_.to[2] : p_.from[2]) * filters_;
  }

  uint32_t threads() const { return threads_; }
  uint64_t scratch_bytes() const { return kWidens ? static_cast<uint64_t>(weights()) * sizeof(float) : 0; }
  uint64_t thread_scratch_bytes() const { return static_cast<uint64_t>(room_) * sizeof(T); }
  int64_t parts() const { return p_.batch * blocks_; }

  void run(const Call& call, const ConvData& d) const {
    const float* w = d.weights;
    if constexpr (kWidens) {
      float* const wide = static_cast<float*>(call.scratch);
      const Slice mine = call.share(weights(), kGrain);
      if (mine.begin < mine.end)
        widen(TENON_BF16, reinterpret_cast<const uint16_t*>(d.weights) + mine.begin, wide + mine.begin,
              mine.end - mine.begin);
      call.barrier();
      w = wide;
    }
    const Slice units = call.share(p_.batch * blocks_);
    for (int64_t u = units.begin; u < units.end; ++u) block(d, w, u, static_cast<T*>(call.thread_scratch));
  }

 private:
  static constexpr bool kWidens = !std::is_same_v<T, float>;
  int64_t weights() const { return p_.kernel.product() * filters_; }

  void block(const ConvData& d, const float* w, int64_t unit, T* room) const {
    const int64_t image = unit / blocks_, q = unit % blocks_ * rows_;
    const int64_t row = q * p_.to_step[1], rows = std::min((q + rows_) * p_.to_step[1], p_.to[1]) - row;
    const PointRun run{(image * p_.to[1] + row) * p_.to[2], rows * p_.to[2]};
    for (int64_t c = 0; c < filters_; c += near_)
      for (const GatherPhase& g : p_.phases) {
        DepthwisePhase<T> phase = phase_of(g, d, w, image, q);
        const int64_t height = std::min(rows_, g.count[1] - q);
        if (m_ > 1 && p_.transposed) phase.to = room + (g.to_first[1] * p_.to[2] + g.to_first[2]) * filters_;
        if (m_ > 1 && !p_.transposed) repeat_source(height, c == 0, room, &phase);
        run_depthwise(phase, height, g.count[2], {c, std::min(c + near_, filters_)});
      }
    if constexpr (!kWidens)
      if (m_ > 1 && p_.transposed) add_neighbours(room, run.length * p_.to_c, m_, d.to + run.first * p_.to_c);
    if (d.visitor) d.visitor->visit(d.visitor->context, unit, &run, 1, {0, p_.to_c});
  }

  // The rows that a block reads, in `room`, where they are already unless they are to be copied.
  void repeat_source(int64_t height, bool copies, T* room, DepthwisePhase<T>* f) const {
    const int64_t last = (height - 1) * f->row_step + (f->rows - 1) * f->tap_row;
    const int64_t begin = std::clamp<int64_t>(f->first_row, 0, p_.from[1]);
    const int64_t end = std::clamp<int64_t>(f->first_row + last + 1, begin, p_.from[1]);
    const int64_t row = p_.from[2] * p_.from_c;
    if (copies) repeat_channels(f->from + begin * row, (end - begin) * row, m_, room);
    f->from = room;
    f->from_rows = end - begin;
    f->first_row -= begin;
  }

  // That of the points from row q on.
  DepthwisePhase<T> phase_of(const GatherPhase& g, const ConvData& d, const float* w, int64_t image, int64_t q) const {
    DepthwisePhase<T> f;
    const int64_t c = filters_;
    f.from = reinterpret_cast<const T*>(d.from) + image * p_.from.product() * p_.from_c;
    f.from_rows = p_.from[1], f.from_columns = p_.from[2], f.from_row = p_.from[2] * c, f.from_point = c;
    f.row_step = p_.from_step[1], f.first_row = g.first[1] + q * p_.from_step[1], f.tap_row = g.step[1];
    f.column_step = p_.from_step[2], f.first_column = g.first[2], f.tap_column = g.step[2];
    f.rows = g.taps[1], f.columns = g.taps[2];
    if (g.taps.product() > 0) f.w = w + (g.tap_first[1] * p_.kernel[2] + g.tap_first[2]) * c;
    f.w_row = g.tap_step[1] * p_.kernel[2] * c, f.w_column = g.tap_step[2] * c;
    const int64_t at = (image * p_.to[1] + g.to_first[1] + q * p_.to_step[1]) * p_.to[2] + g.to_first[2];
    f.to = reinterpret_cast<T*>(d.to) + at * p_.to_c;
    f.to_row = p_.to_step[1] * p_.to[2] * c, f.to_point = p_.to_step[2] * c;
    f.fetches_result = p_.batch * p_.to.product() * p_.to_c >= kDepthwiseFar && p_.to.product() >= p_.from.product();
    f.residual = d.residual ? reinterpret_cast<const T*>(d.residual) + at * p_.to_c : nullptr;
    f.bias = d.bias;
    f.norm = d.norm;
    f.act = p_.act;
    f.alpha = p_.alpha;
    return f;
  }

  GatherPlan p_;
  int64_t filters_, m_;  // of all channels, of one
  uint32_t threads_ = 1;
  int64_t length_ = 1, rows_ = 1, blocks_ = 1;  // of points in a phase's first axis: all, in a block, blocks
  int64_t near_ = 1;                            // channels at a time
  int64_t room_ = 0;                            // elements of a block of m filters a channel
};

template <class T>
class DepthwiseFilter {
 public:
  explicit DepthwiseFilter(const ConvProblem& problem) : s_(problem.shape), m_(s_.o / s_.c) {
    threads_ = s_.flops() < 1e5 ? 1 : plugin::kAllThreads;
    size_ = s_.taps() * s_.o;
    rows_ = std::clamp<int64_t>(kDepthwiseBlock / (s_.y[2] * s_.o), 1, s_.y[1]);
    blocks_ = ceil_div(s_.y[1], rows_);
    if (threads_ > 1) chunks_ = std::min(kDepthwiseChunks, s_.batch * blocks_);
    const int64_t reach = (s_.k[1] - 1) * s_.dilation[1] + 1;
    if (m_ > 1) room_ = std::min(s_.x[1], (rows_ - 1) * s_.stride[1] + reach) * s_.x[2] * s_.o;
  }

  uint32_t threads() const { return threads_; }
  uint64_t scratch_bytes() const { return chunks_ > 1 ? static_cast<uint64_t>(chunks_ * size_) * sizeof(float) : 0; }
  uint64_t thread_scratch_bytes() const { return static_cast<uint64_t>(room_) * sizeof(T); }

  // x, dy -> dw, which is f32.
  void run(const Call& call, const ConvData& d) const {
    const int64_t units = s_.batch * blocks_;
    const Slice mine = call.share(chunks_);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      float* const dw = chunks_ > 1 ? static_cast<float*>(call.scratch) + i * size_ : d.to;
      std::fill_n(dw, size_, 0.f);
      for (int64_t u = units * i / chunks_; u < units * (i + 1) / chunks_; ++u)
        block(d, u, static_cast<T*>(call.thread_scratch), dw);
    }
    if (chunks_ == 1) return;
    call.barrier();
    add_chunks(call, static_cast<const float*>(call.scratch), chunks_, size_, d.to);
  }

 private:
  void block(const ConvData& d, int64_t unit, T* room, float* dw) const {
    const int64_t image = unit / blocks_, row = unit % blocks_ * rows_, rows = std::min(rows_, s_.y[1] - row);
    DepthwiseFilterRows<T> f;
    f.x = reinterpret_cast<const T*>(d.from) + image * s_.x_points() * s_.c;
    f.x_rows = s_.x[1], f.x_columns = s_.x[2], f.x_row = s_.x[2] * s_.o, f.x_point = s_.o;
    f.row_step = s_.stride[1], f.column_step = s_.stride[2];
    f.tap_row = s_.dilation[1], f.tap_column = s_.dilation[2];
    f.first_row = row * s_.stride[1] - s_.low[1], f.first_column = -s_.low[2];
    f.rows = s_.k[1], f.columns = s_.k[2];
    f.dy = reinterpret_cast<const T*>(d.weights) + (image * s_.y_points() + row * s_.y[2]) * s_.o;
    f.dy_row = s_.y[2] * s_.o, f.dy_point = s_.o, f.width = s_.y[2];
    f.dw = dw, f.dw_tap = s_.o;
    if (m_ > 1) repeat_source(rows, room, &f);
    run_depthwise_filter(f, rows, {0, s_.o});
  }

  // The rows of x that a block reads, in `room`.
  void repeat_source(int64_t rows, T* room, DepthwiseFilterRows<T>* f) const {
    const int64_t last = (rows - 1) * f->row_step + (f->rows - 1) * f->tap_row;
    const int64_t begin = std::clamp<int64_t>(f->first_row, 0, s_.x[1]);
    const int64_t end = std::clamp<int64_t>(f->first_row + last + 1, begin, s_.x[1]);
    repeat_channels(f->x + begin * s_.x[2] * s_.c, (end - begin) * s_.x[2] * s_.c, m_, room);
    f->x = room;
    f->x_rows = end - begin;
    f->first_row -= begin;
  }

  ConvShape s_;
  int64_t m_;  // filters of a channel
  uint32_t threads_ = 1;
  int64_t size_ = 0, rows_ = 1, blocks_ = 1,
          chunks_ = 1;  // of dw; of y in a block, blocks; sums that are added in order
  int64_t room_ = 0;    // elements of a block of x
};

template <class T>
ConvWork depthwise_of(const ConvProblem& p) {
  const auto work = std::make_shared<Depthwise<T>>(p);
  return work_of<ConvData>(work, work->parts());
}

}  // namespace

bool suits_depthwise(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  const bool plane = s.x[0] == 1 && s.y[0] == 1 && s.k[0] == 1 && s.low[0] == 0;
  return s.groups > 1 && s.groups == s.c && plane && (p.dtype != TENON_BF16 || s.o == s.c);
}

bool suits_depthwise_filter(const ConvProblem& p) {
  const int64_t k = p.shape.k[2];
  return suits_depthwise(p) && (k == 3 || k == 5 || k == 7);
}

ConvWork depthwise(const ConvProblem& p) {
  if (p.dtype == TENON_BF16) return with_wide_bias(depthwise_of<Bfloat>(p), p.shape.o);
  return depthwise_of<float>(p);
}

ConvWork depthwise_filter(const ConvProblem& p) {
  if (p.dtype == TENON_BF16)
    return with_rounded_result(work_of<ConvData>(std::make_shared<DepthwiseFilter<Bfloat>>(p)), p);
  return work_of<ConvData>(std::make_shared<DepthwiseFilter<float>>(p));
}

}  // namespace tenon::cpu::TENON_CPU_ISA
