// In front of every program: dtypes, memory, loops. -D SHAPE_CPU or SHAPE_GPU, HAS_F64.
//
// An element of dtype d is kept as S_d and computed with as W_d; LOAD and STORE go between them.
#pragma OPENCL FP_CONTRACT ON
#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double S_f64;
typedef double W_f64;
#endif
typedef float S_f32;
typedef float W_f32;
typedef ushort S_bf16;
typedef float W_bf16;
typedef ushort S_f16;
typedef float W_f16;
typedef int S_i32;
typedef int W_i32;
typedef long S_i64;
typedef long W_i64;
typedef uchar S_u8;
typedef int W_u8;
typedef uchar S_bool;
typedef int W_bool;

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define STORED(d) JOIN(S_, d)
#define WIDE(d) JOIN(W_, d)
#define TO_WIDE(d) JOIN(to_wide_, d)
#define TO_STORED(d) JOIN(to_stored_, d)

#define SAME_BOTH_WAYS(d)                             \
  static inline WIDE(d) TO_WIDE(d)(STORED(d) x) { return x; } \
  static inline STORED(d) TO_STORED(d)(WIDE(d) x) { return (STORED(d))x; }
SAME_BOTH_WAYS(f32)
SAME_BOTH_WAYS(i32)
SAME_BOTH_WAYS(i64)
SAME_BOTH_WAYS(u8)
SAME_BOTH_WAYS(bool)
#ifdef HAS_F64
SAME_BOTH_WAYS(f64)
#endif

static inline float to_wide_bf16(ushort x) { return as_float((uint)x << 16); }
static inline ushort to_stored_bf16(float x) {  // to nearest, ties to even
  uint b = as_uint(x);
  return (b & 0x7fffffffu) > 0x7f800000u ? (ushort)(b >> 16 | 0x40) : (ushort)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
}

static inline float to_wide_f16(ushort x) {
  uint sign = (uint)(x & 0x8000) << 16, rest = x & 0x7fff;
  if (rest >= 0x7c00) return as_float(sign | 0x7f800000u | (rest & 0x3ff) << 13);
  if (rest >= 0x400) return as_float(sign | (rest << 13) + (112u << 23));
  float small = (float)rest * 0x1p-24f;
  return sign ? -small : small;
}
static inline ushort to_stored_f16(float x) {  // to nearest, ties to even
  uint b = as_uint(x), sign = b >> 16 & 0x8000, rest = b & 0x7fffffffu;
  if (rest > 0x7f800000u) return (ushort)(sign | 0x7e00);
  if (rest >= 0x477ff000u) return (ushort)(sign | 0x7c00);
  if (rest >= 0x38800000u) return (ushort)(sign | ((rest + 0xfffu + (rest >> 13 & 1)) - (112u << 23)) >> 13);
  if (rest < 0x33000000u) return (ushort)sign;
  uint shift = 126 - (rest >> 23), m = (rest & 0x7fffffu) | 0x800000u;  // a subnormal: units of 2^-24
  uint kept = m >> shift, left = m & ((1u << shift) - 1), half_unit = 1u << (shift - 1);
  return (ushort)(sign | (kept + (left > half_unit || (left == half_unit && (kept & 1)))));
}

// An operand, a result or scratch as a parameter: memory, and bytes from its start.
#define MEM(name) __global uchar *name##_memory, ulong name##_at
#define POINTER(T, name) ((__global T *)(name##_memory + name##_at))
#define LOAD(d, p, i) TO_WIDE(d)((p)[i])
#define STORE(d, p, i, x) (p)[i] = TO_STORED(d)(x)

// for (ulong i over this work item's part of 0..n-1)
#ifdef SHAPE_CPU
#define EACH(i, n)                                                                   \
  for (ulong i = (n) * get_group_id(0) / get_num_groups(0),                          \
             i##_end = (n) * (get_group_id(0) + 1) / get_num_groups(0);              \
       i < i##_end; ++i)
#else
#define EACH(i, n) for (ulong i = get_global_id(0); i < (n); i += get_global_size(0))
#endif

// Eight of them; fewer are filled up with 1 (extents) or 0 (strides).
typedef struct {
  long v[8];
} Eight;

// In front of a loop whose turns do not depend on each other, whatever its pointers are.
#ifdef SHAPE_CPU
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT
#endif

// A number as a float that rounds to 16 bits as the number itself would: what a float cannot hold leaves its last bit odd.
#ifdef HAS_F64
static inline float odd_float_f64(double x) {
  float f = (float)x;
  if ((double)f == x || x != x) return f;
  uint bits = as_uint(f);
  if (fabs((double)f) > fabs(x)) --bits;  // toward zero; from infinity to the largest float
  return as_float(bits | 1);
}
#endif
static inline float odd_float_i64(long x) {
  float f = convert_float_rtz(x);
  return (f < 0x1p63f && (long)f == x) ? f : as_float(as_uint(f) | 1);
}
static inline float odd_float_i32(int x) { return odd_float_i64(x); }
