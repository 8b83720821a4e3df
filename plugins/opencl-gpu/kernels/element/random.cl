// Random numbers and what is dropped by them; after philox.cl. Element e is word e & 3 of block e >> 2, where e counts
// on from what replicas before this device's draw: `first` whole blocks and SHIFT words.
#define UNIT(w) ((float)((w) >> 8) * 0x1p-24f)

// words[k] decides element b PER_ITEM + k.
#if SHIFT == 0
#define DRAW(b) \
  uint words[PER_ITEM]; \
  random_words(first + (uint)((b) * (PER_ITEM / 4)), stream, step, seed, words);
#else
#define DRAW(b) \
  uint drawn[PER_ITEM + 4]; \
  const uint block = first + (uint)((b) * (PER_ITEM / 4)); \
  random_words(block, stream, step, seed, drawn); \
  vstore4(philox(block + PER_ITEM / 4, stream, step, seed), 0, drawn + PER_ITEM); \
  const uint* words = drawn + SHIFT;
#endif

#ifndef D
__kernel void uniform(MEM(y), MEM(seed), MEM(step), ulong n, uint stream, uint first) {
  __global float* y = POINTER(float, y);
  const ulong seed = *POINTER(const ulong, seed), step = *POINTER(const ulong, step);
  EACH(b, (n + PER_ITEM - 1) / PER_ITEM) {
    DRAW(b)
    const ulong count = min((ulong)PER_ITEM, n - b * PER_ITEM);
    INDEPENDENT
    for (ulong k = 0; k < count; ++k) y[b * PER_ITEM + k] = UNIT(words[k]);
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
__kernel void dropout(MEM(y), MEM(x), MEM(seed), MEM(step), MEM(residual), ulong n, uint stream, uint first,
                      uint limit, WIDE(D) scale) {
  __global STORED(D)* y = POINTER(STORED(D), y);
  const __global STORED(D)* x = POINTER(const STORED(D), x);
#ifdef RESIDUAL
  const __global STORED(D)* residual = POINTER(const STORED(D), residual);
#endif
  const ulong seed = *POINTER(const ulong, seed), step = *POINTER(const ulong, step);
  EACH(b, (n + PER_ITEM - 1) / PER_ITEM) {
    DRAW(b)
    const ulong count = min((ulong)PER_ITEM, n - b * PER_ITEM);
    INDEPENDENT
    for (ulong k = 0; k < count; ++k) KEEP(b * PER_ITEM + k, words[k]);
  }
}
#endif
