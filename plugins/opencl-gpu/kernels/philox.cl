// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

// Four random words of element block `block` of a stream.
static inline uint4 philox(uint block, uint stream, ulong step, ulong seed) {
  uint4 c = (uint4)(block, stream, (uint)step, (uint)(step >> 32));
  uint low = (uint)seed, high = (uint)(seed >> 32);
  for (int round = 0; round < 10; ++round, low += 0x9E3779B9u, high += 0xBB67AE85u)
    c = (uint4)(mul_hi(0xCD9E8D57u, c.z) ^ c.y ^ low, 0xCD9E8D57u * c.z, mul_hi(0xD2511F53u, c.x) ^ c.w ^ high,
                0xD2511F53u * c.x);
  return c;
}

// The words of PER_ITEM / 4 blocks, from block `first` on, one after the other.
#ifdef SHAPE_CPU
#define PER_ITEM 64  // sixteen blocks, a vector of each of their words
static inline void random_words(uint first, uint stream, ulong step, ulong seed, uint* words) {
  uint16 x = first + (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), y = stream, z = (uint)step,
         w = (uint)(step >> 32);
  uint low = (uint)seed, high = (uint)(seed >> 32);
  for (int round = 0; round < 10; ++round, low += 0x9E3779B9u, high += 0xBB67AE85u) {
    const ulong16 p = convert_ulong16(z) * 0xCD9E8D57ul, q = convert_ulong16(x) * 0xD2511F53ul;
    const uint16 old_w = w;
    x = convert_uint16(p >> 32) ^ y ^ low;
    y = convert_uint16(p);
    z = convert_uint16(q >> 32) ^ old_w ^ high;
    w = convert_uint16(q);
  }
  vstore16((uint16)(x.s0, y.s0, z.s0, w.s0, x.s1, y.s1, z.s1, w.s1, x.s2, y.s2, z.s2, w.s2, x.s3, y.s3, z.s3, w.s3), 0, words);
  vstore16((uint16)(x.s4, y.s4, z.s4, w.s4, x.s5, y.s5, z.s5, w.s5, x.s6, y.s6, z.s6, w.s6, x.s7, y.s7, z.s7, w.s7), 1, words);
  vstore16((uint16)(x.s8, y.s8, z.s8, w.s8, x.s9, y.s9, z.s9, w.s9, x.sa, y.sa, z.sa, w.sa, x.sb, y.sb, z.sb, w.sb), 2, words);
  vstore16((uint16)(x.sc, y.sc, z.sc, w.sc, x.sd, y.sd, z.sd, w.sd, x.se, y.se, z.se, w.se, x.sf, y.sf, z.sf, w.sf), 3, words);
}
#else
#define PER_ITEM 4
static inline void random_words(uint first, uint stream, ulong step, ulong seed, uint* words) {
  vstore4(philox(first, stream, step, seed), 0, words);
}
#endif
