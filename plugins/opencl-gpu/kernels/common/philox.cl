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
// The halves of x k. Lanes are taken by pairs, as the halves of longs: a product of two numbers of 32 bits is one
// instruction.
static inline void products(uint16 x, ulong k, uint16 *high, uint16 *low) {
  const ulong right = 0xffffffffUL, left = right << 32;
  const ulong8 pairs = as_ulong8(x), p = (pairs & right) * k, q = (pairs >> 32) * k;
  *high = as_uint16((p >> 32) | (q & left));
  *low = as_uint16((p & right) | (q << 32));
}
// a0 b0 a1 b1 .. of eight lanes
#define BY_TURNS(T, a, b, l0, l1, l2, l3, l4, l5, l6, l7) \
  (T)(a.l0, b.l0, a.l1, b.l1, a.l2, b.l2, a.l3, b.l3, a.l4, b.l4, a.l5, b.l5, a.l6, b.l6, a.l7, b.l7)
#define PAIRS_BY_TURNS(a, b, l0, l1, l2, l3) \
  as_uint16((ulong8)(a.l0, b.l0, a.l1, b.l1, a.l2, b.l2, a.l3, b.l3))

// Word k of sixteen blocks is four[k].
static inline void random_lanes(uint16 blocks, uint stream, ulong step, ulong seed, uint16 *four) {
  uint16 x = blocks, y = stream, z = (uint)step, w = (uint)(step >> 32);
  uint low = (uint)seed, high = (uint)(seed >> 32);
  for (int round = 0; round < 10; ++round, low += 0x9E3779B9u, high += 0xBB67AE85u) {
    uint16 p_high, p_low, q_high, q_low;
    products(z, 0xCD9E8D57ul, &p_high, &p_low);
    products(x, 0xD2511F53ul, &q_high, &q_low);
    x = p_high ^ y ^ low;
    y = p_low;
    z = q_high ^ w ^ high;
    w = q_low;
  }
  four[0] = x, four[1] = y, four[2] = z, four[3] = w;
}

static inline void random_words(uint first, uint stream, ulong step, ulong seed, uint* words) {
  uint16 f[4];
  random_lanes(first + (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), stream, step, seed, f);
  const ulong8 xy = as_ulong8(BY_TURNS(uint16, f[0], f[1], s0, s1, s2, s3, s4, s5, s6, s7));
  const ulong8 zw = as_ulong8(BY_TURNS(uint16, f[2], f[3], s0, s1, s2, s3, s4, s5, s6, s7));
  const ulong8 more_xy = as_ulong8(BY_TURNS(uint16, f[0], f[1], s8, s9, sa, sb, sc, sd, se, sf));
  const ulong8 more_zw = as_ulong8(BY_TURNS(uint16, f[2], f[3], s8, s9, sa, sb, sc, sd, se, sf));
  vstore16(PAIRS_BY_TURNS(xy, zw, s0, s1, s2, s3), 0, words);
  vstore16(PAIRS_BY_TURNS(xy, zw, s4, s5, s6, s7), 1, words);
  vstore16(PAIRS_BY_TURNS(more_xy, more_zw, s0, s1, s2, s3), 2, words);
  vstore16(PAIRS_BY_TURNS(more_xy, more_zw, s4, s5, s6, s7), 3, words);
}
#else
#define PER_ITEM 4
static inline void random_words(uint first, uint stream, ulong step, ulong seed, uint* words) {
  vstore4(philox(first, stream, step, seed), 0, words);
}
#endif
