#include "kernels/movement/transpose.h"

#include <algorithm>

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kEight = 8;
constexpr int64_t kFour = 4;  // a side of the blocks that a vector holds rows of two of

// Four floats of a row and of the fourth one after it.
template <class T>
TENON_INLINE f32x8 two_rows(const T* in, int64_t ld) {
  const f32x4 a = load_as<f32x4>(in), b = load_as<f32x4>(in + kFour * ld);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

// Turns the 4 x 4 block that lies in the first four lanes of v, and the one in the last four.
TENON_INLINE void turn(f32x8* v) {
  const f32x8 a = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13);
  const f32x8 b = __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15);
  const f32x8 c = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13);
  const f32x8 d = __builtin_shufflevector(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13);
  v[1] = __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15);
  v[2] = __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

// 8 rows x 4 columns; `n` of them are stored. Reads four floats of every row.
template <class T>
TENON_INLINE void tall_block(const T* in, int64_t ld_in, T* out, int64_t ld_out, int64_t n = kFour) {
  f32x8 v[kFour];
  for (int64_t i = 0; i < kFour; ++i) v[i] = two_rows(in + i * ld_in, ld_in);
  turn(v);
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * ld_out, &v[i], sizeof v[i]);
}

// 4 rows x 8 columns.
template <class T>
TENON_INLINE void flat_block(const T* in, int64_t ld_in, T* out, int64_t ld_out) {
  f32x8 v[kFour];
  for (int64_t i = 0; i < kFour; ++i) v[i] = load_as<f32x8>(in + i * ld_in);
  turn(v);
  for (int64_t i = 0; i < kFour; ++i) {
    std::memcpy(out + i * ld_out, &v[i], sizeof(f32x4));
    const f32x4 second = __builtin_shufflevector(v[i], v[i], 4, 5, 6, 7);
    std::memcpy(out + (kFour + i) * ld_out, &second, sizeof second);
  }
}

template <class T>
void one_by_one(const T* in, int64_t rows, int64_t columns, int64_t ld_in, T* out, int64_t ld_out) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) out[c * ld_out + r] = in[r * ld_in + c];
}

// The last block of a side that no whole number of them fits lies over the one before.
int64_t block_at(int64_t i, int64_t block, int64_t end) { return std::min(i, end - block); }

template <class T>
void turn_all(const T* in, int64_t rows, int64_t columns, int64_t ld_in, T* out, int64_t ld_out) {
  int64_t r = 0;
  if (columns >= kFour)
    for (; r + kEight <= rows; r += kEight)
      for (int64_t i = 0; i < columns; i += kFour) {
        const int64_t c = block_at(i, kFour, columns);
        tall_block(in + r * ld_in + c, ld_in, out + c * ld_out + r, ld_out);
      }
  else  // as long as four floats of a block's last row lie within the matrix
    for (; r + kEight <= rows && (r + kEight - 1) * ld_in + kFour <= (rows - 1) * ld_in + columns; r += kEight)
      tall_block(in + r * ld_in, ld_in, out + r, ld_out, columns);
  if (rows - r >= kFour && columns >= kEight) {
    for (int64_t i = r; i < rows; i += kFour)
      for (int64_t j = 0; j < columns; j += kEight) {
        const int64_t at = block_at(i, kFour, rows), c = block_at(j, kEight, columns);
        flat_block(in + at * ld_in + c, ld_in, out + c * ld_out + at, ld_out);
      }
    return;
  }
  one_by_one(in + r * ld_in, rows - r, columns, ld_in, out + r, ld_out);
}

}  // namespace

void transpose(const float* in, int64_t rows, int64_t columns, int64_t ld_in, float* out, int64_t ld_out) {
  turn_all(in, rows, columns, ld_in, out, ld_out);
}

void transpose(const int32_t* in, int64_t rows, int64_t columns, int64_t ld_in, int32_t* out, int64_t ld_out) {
  turn_all(in, rows, columns, ld_in, out, ld_out);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
