// Random numbers and what is dropped by them; after philox.cl. Element e is word e & 3 of block e >> 2.
#define UNIT(w) ((float)((w) >> 8) * 0x1p-24f)

#ifndef D
__kernel void uniform(MEM(y), MEM(seed), MEM(step), ulong n, uint stream) {
  __global float* y = POINTER(float, y);
  const ulong seed = *POINTER(const ulong, seed), step = *POINTER(const ulong, step);
  INDEPENDENT
  EACH(b, n / 4) {
    const uint4 w = philox((uint)b, stream, step, seed);
    y[4 * b] = UNIT(w.x);
    y[4 * b + 1] = UNIT(w.y);
    y[4 * b + 2] = UNIT(w.z);
    y[4 * b + 3] = UNIT(w.w);
  }
  if (get_global_id(0) == 0 && n % 4) {
    const uint4 w = philox((uint)(n / 4), stream, step, seed);
    const uint rest[3] = {w.x, w.y, w.z};
    for (ulong k = 0; k < n % 4; ++k) y[n / 4 * 4 + k] = UNIT(rest[k]);
  }
}
#else
// y = x / (1 - rate) + residual where the draw is not below the rate, residual elsewhere.
#ifdef RESIDUAL
#define REST(i) LOAD(D, residual, i)
#else
#define REST(i) 0
#endif
#define KEEP(i, w) STORE(D, y, i, ((w) >> 8 >= limit ? LOAD(D, x, i) * scale : 0) + REST(i))
__kernel void dropout(MEM(y), MEM(x), MEM(seed), MEM(step), MEM(residual), ulong n, uint stream, uint limit,
                      WIDE(D) scale) {
  __global STORED(D)* y = POINTER(STORED(D), y);
  const __global STORED(D)* x = POINTER(const STORED(D), x);
#ifdef RESIDUAL
  const __global STORED(D)* residual = POINTER(const STORED(D), residual);
#endif
  const ulong seed = *POINTER(const ulong, seed), step = *POINTER(const ulong, step);
  INDEPENDENT
  EACH(b, n / 4) {
    const uint4 w = philox((uint)b, stream, step, seed);
    KEEP(4 * b, w.x);
    KEEP(4 * b + 1, w.y);
    KEEP(4 * b + 2, w.z);
    KEEP(4 * b + 3, w.w);
  }
  if (get_global_id(0) == 0 && n % 4) {
    const uint4 w = philox((uint)(n / 4), stream, step, seed);
    const uint rest[3] = {w.x, w.y, w.z};
    for (ulong k = n / 4 * 4; k < n; ++k) KEEP(k, rest[k % 4]);
  }
}
#endif
