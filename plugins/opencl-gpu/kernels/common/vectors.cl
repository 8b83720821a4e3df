// Four elements that lie side by side in memory of dtype d, as they are computed with: V4(d), LOAD4(d, p) and
// STORE4(d, p, x). In one access where p is a multiple of four elements; p need not be. After prelude.cl.
typedef float4 V4_f32;
typedef float4 V4_bf16;
typedef float4 V4_f16;
#define V4(d) JOIN(V4_, d)
#define LOAD4(d, p) JOIN(load4_, d)(p)
#define STORE4(d, p, x) JOIN(store4_, d)(p, x)
#define IN_ONE(p, bytes) (((uintptr_t)(p) & ((bytes)-1)) == 0)

static inline float4 load4_f32(const __global float* p) {
  return IN_ONE(p, 16) ? *(const __global float4*)p : vload4(0, p);
}
static inline void store4_f32(__global float* p, float4 x) {
  if (IN_ONE(p, 16))
    *(__global float4*)p = x;
  else
    vstore4(x, 0, p);
}

static inline ushort4 load4_ushort(const __global ushort* p) {
  return IN_ONE(p, 8) ? *(const __global ushort4*)p : vload4(0, p);
}
static inline void store4_ushort(__global ushort* p, ushort4 x) {
  if (IN_ONE(p, 8))
    *(__global ushort4*)p = x;
  else
    vstore4(x, 0, p);
}

static inline float4 load4_bf16(const __global ushort* p) { return as_float4(convert_uint4(load4_ushort(p)) << 16); }
static inline void store4_bf16(__global ushort* p, float4 x) {
  store4_ushort(p, (ushort4)(to_stored_bf16(x.s0), to_stored_bf16(x.s1), to_stored_bf16(x.s2), to_stored_bf16(x.s3)));
}

static inline float4 load4_f16(const __global ushort* p) {
  return IN_ONE(p, 8) ? vload_half4(0, (const __global half*)p)
                      : (float4)(to_wide_f16(p[0]), to_wide_f16(p[1]), to_wide_f16(p[2]), to_wide_f16(p[3]));
}
static inline void store4_f16(__global ushort* p, float4 x) {
  store4_ushort(p, (ushort4)(to_stored_f16(x.s0), to_stored_f16(x.s1), to_stored_f16(x.s2), to_stored_f16(x.s3)));
}

#ifdef HAS_F64
typedef double4 V4_f64;
static inline double4 load4_f64(const __global double* p) {
  return IN_ONE(p, 32) ? *(const __global double4*)p : vload4(0, p);
}
static inline void store4_f64(__global double* p, double4 x) {
  if (IN_ONE(p, 32))
    *(__global double4*)p = x;
  else
    vstore4(x, 0, p);
}
#endif
