// Walks over boxes of elements: what transposing, slicing, padding and reducing have in common. C++17, header only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tenon/plugin/graph.h"

namespace tenon::plugin {

using Dims = std::vector<int64_t>;

// Distances, in elements, between neighbours along each axis of a dense row-major value.
inline Dims strides_of(const ValueView& value) {
  Dims strides(static_cast<size_t>(value.rank()), 1);
  for (int d = value.rank() - 2; d >= 0; --d) strides[d] = strides[d + 1] * value.dim(d + 1);
  return strides;
}

// A box walked in row-major order, with a position in each of N arrays: an array has a stride an axis, which
// may be 0 (the same element again) or negative, and an offset at which the walk begins. Trivially copyable.
template <int N>
class Walk {
 public:
  struct Axis {
    int64_t n;
    std::array<int64_t, N> stride;
  };

  // REQUIRED: rank <= TENON_MAX_RANK, strides of that rank.
  Walk(Span<int64_t> dims, const std::array<Dims, N>& strides, const std::array<int64_t, N>& start = {})
      : start_(start) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 1) continue;
      Axis axis{dims[d], {}};
      for (int k = 0; k < N; ++k) axis.stride[k] = strides[k][d];
      add(axis);
    }
    if (rank_ == 0) axes_[rank_++] = {1, {}};
  }

  // Calls row(at, n, step) for each row of n elements: element i of it is at[k] + i * step[k] in array k.
  template <class Row>
  void rows(Row row) const {
    std::array<int64_t, N> at = start_;
    std::array<int64_t, TENON_MAX_RANK> index{};
    const Axis& last = axes_[rank_ - 1];
    do row(at, last.n, last.stride);
    while (next(at, index));
  }

  // The axes that are left, one at least, outermost first, and where the walk begins: for who writes loops of their
  // own.
  Span<Axis> axes() const { return {axes_.data(), static_cast<size_t>(rank_)}; }
  const std::array<int64_t, N>& start() const { return start_; }

 private:
  // Axes that follow each other without a gap in every array are one.
  void add(const Axis& axis) {
    bool joins = rank_ > 0;
    for (int k = 0; k < N && joins; ++k) joins = axes_[rank_ - 1].stride[k] == axis.stride[k] * axis.n;
    if (!joins) {
      axes_[rank_++] = axis;
      return;
    }
    axes_[rank_ - 1].n *= axis.n;
    axes_[rank_ - 1].stride = axis.stride;
  }

  bool next(std::array<int64_t, N>& at, std::array<int64_t, TENON_MAX_RANK>& index) const {
    for (int d = rank_ - 2; d >= 0; --d) {
      for (int k = 0; k < N; ++k) at[k] += axes_[d].stride[k];
      if (++index[d] < axes_[d].n) return true;
      for (int k = 0; k < N; ++k) at[k] -= axes_[d].stride[k] * axes_[d].n;
      index[d] = 0;
    }
    return false;
  }

  std::array<int64_t, N> start_;
  std::array<Axis, TENON_MAX_RANK> axes_{};
  int rank_ = 0;
};

// Moves every element from its place in x to its place in y.
template <class T>
void copy(const Walk<2>& walk, const T* x, T* y) {
  walk.rows([=](auto at, int64_t n, auto step) {
    for (int64_t i = 0; i < n; ++i) y[at[1] + i * step[1]] = x[at[0] + i * step[0]];
  });
}

}  // namespace tenon::plugin
