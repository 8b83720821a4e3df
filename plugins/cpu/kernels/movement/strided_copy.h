// Copies between strided views: the loop behind transpose, broadcast, slice, reverse and pad.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace tenon::cpu::TENON_CPU_ISA {

// Below this many elements a second thread costs more than it gives.
constexpr int64_t kSmallWork = 16384;
inline uint32_t threads_for(int64_t work) { return work < kSmallWork ? 1 : plugin::kAllThreads; }

// for all index vectors k < dims: dst[sum k out] = src[sum k in]; strides in elements, may be 0 or negative for src.
struct StridedCopy {
  int rank = 0;
  int64_t dims[TENON_MAX_RANK], in[TENON_MAX_RANK], out[TENON_MAX_RANK];

  void push(int64_t n, int64_t in_stride, int64_t out_stride) {
    dims[rank] = n;
    in[rank] = in_stride;
    out[rank++] = out_stride;
  }
  int64_t elements() const;
  // Drops dimensions of 1, merges what lies evenly in both views, and moves the dimension along which a
  // transposed source is contiguous beside the last one. Call once, after the last push.
  void plan();
  // This thread's share.
  void run(const Call& call, int64_t element_bytes, const void* src, void* dst) const;

 private:
  template <class T>
  void run_rows(const Call& call, const T* src, T* dst) const;
  template <class T>
  void run_tiles(const Call& call, const T* src, T* dst) const;
  bool tiled_ = false;
};

// Row-major strides of dims.
inline void dense_strides(const int64_t* dims, int rank, int64_t* strides) {
  int64_t s = 1;
  for (int i = rank - 1; i >= 0; --i) strides[i] = s, s *= dims[i];
}

// The index vector of a flat number over dims[0, rank), kept beside two running offsets.
struct Odometer {
  const StridedCopy* copy;
  int rank;
  int64_t index[TENON_MAX_RANK];
  int64_t in = 0, out = 0;

  Odometer(const StridedCopy& c, int r, int64_t flat) : copy(&c), rank(r) {
    for (int i = rank - 1; i >= 0; --i) {
      index[i] = flat % c.dims[i];
      flat /= c.dims[i];
      in += index[i] * c.in[i];
      out += index[i] * c.out[i];
    }
  }
  void next() {
    for (int i = rank - 1; i >= 0; --i) {
      in += copy->in[i];
      out += copy->out[i];
      if (++index[i] < copy->dims[i]) return;
      in -= copy->in[i] * copy->dims[i];
      out -= copy->out[i] * copy->dims[i];
      index[i] = 0;
    }
  }
};

}  // namespace tenon::cpu::TENON_CPU_ISA
