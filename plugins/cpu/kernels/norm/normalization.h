// Sums over the rows of a matrix [rows, c], the work of batch, instance and group normalization.
#pragma once

#include <type_traits>

#include "kernels/element.h"
#include "kernels/element/activation.h"
#include "kernels/movement/strided_copy.h"

namespace tenon::cpu::TENON_CPU_ISA {

// How many rows one piece takes: it stays in the second-level cache between two readings.
inline int64_t piece_rows(int64_t rows, int64_t c) {
  const int64_t n = 16384 / c > 32 ? 16384 / c : 32;
  return n < rows ? n : rows;
}
inline int64_t pieces_of(int64_t rows, int64_t piece) { return (rows + piece - 1) / piece; }

// What has rows is f32 or bf16, sums and what belongs to channels f32.

// mean[c] and square[c] = sum (x - mean)^2 of x [rows, c].
template <class T>
void column_moments(const T* x, int64_t rows, int64_t c, float* mean, float* square);

// sum[c] += sum dz and dot[c] += sum dz (x - mean).
template <class T>
void column_dots(const T* dz, const T* x, const float* mean, int64_t rows, int64_t c, float* sum, float* dot);

// The same on c columns of rows that are `ld` elements apart, in two steps: sum[c] += sum x, then
// square[c] += sum (x - mean)^2 and rest[c] += sum (x - mean), by which a rounded mean is corrected.
template <class T>
void add_columns(const T* x, int64_t rows, int64_t c, int64_t ld, float* sum);
template <class T>
void add_squares(const T* x, int64_t rows, int64_t c, int64_t ld, const float* mean, float* square, float* rest);

// Rows of a tile that stays in L1 between an activation and its argument.
inline int64_t tile_rows(int64_t c) { return 2048 / c > 4 ? 2048 / c : 4; }

// What comes to dz on its way into column_dots.
template <class T>
struct IncomingGradient {
  const T* dy = nullptr;     // is read instead of what dz holds
  const T* other = nullptr;  // is added, or nullptr
  // The gradient passes where y, or what apply_columns computes of x with scale and beta, is above 0 and not at the
  // ceiling; everywhere where all are nullptr. As dz, but scale and beta [c].
  const T* y = nullptr;
  const float *scale = nullptr, *beta = nullptr;
  bool ceiling = false;  // of ReLU6
};
// The same for that dz, which is stored where it changed or came from elsewhere; rows are `ld` elements apart.
template <class T>
void take_gradient(T* dz, const T* x, const IncomingGradient<T>& from, const float* mean, int64_t rows, int64_t c,
                   int64_t ld, float* sum, float* dot);

// y = (x - mean) scale + beta [+ residual], clipped, on c columns of rows that are `ld` elements apart; beta, residual may
// be nullptr, y may be x.
template <class T>
void apply_columns(const T* x, const std::type_identity_t<T>* residual, int64_t rows, int64_t c, int64_t ld,
                   const float* mean, const float* scale, const float* beta, Clip clip, T* y);

// The same of sums of f32 in rows that are `sums_ld` apart, which are rounded to bf16 first.
void normalize_sums(const float* sums, int64_t sums_ld, const Bfloat* residual, int64_t rows, int64_t c, int64_t ld,
                    const float* mean, const float* scale, const float* beta, Clip clip, Bfloat* y);

// dx = scale dz - (x - mean) slope - shift on [rows, c].
template <class T>
void grad_columns(const T* dz, const T* x, int64_t rows, int64_t c, const float* mean, const float* scale,
                  const float* slope, const float* shift, T* dx);
// The same, and sum[c] += the columns of dx, before they are rounded.
template <class T>
void grad_columns(const T* dz, const T* x, int64_t rows, int64_t c, const float* mean, const float* scale,
                  const float* slope, const float* shift, T* dx, float* sum);

// Moments of `pieces` pieces [pieces][2][c] of `piece` rows each (the last has the rest), as one:
// channels [from, to). square is the sum of squared distances from the mean.
void merge_moments(const float* partial, int64_t pieces, int64_t piece, int64_t rows, int64_t c, Slice channels,
                   double* mean, double* square);

// The same of pieces of any size; count[p] is the rows of piece p.
void merge_moments(const float* partial, int64_t pieces, const double* count, int64_t c, Slice channels, double* mean,
                   double* square);

// In the order of the pieces: out[i] = sum partial[p * step + i], i in `range`.
template <class T>
void add_pieces(const float* partial, int64_t pieces, int64_t step, Slice range, T* out);

}  // namespace tenon::cpu::TENON_CPU_ISA
