// What attention on CPU devices is made of, after attention.cl and lanes.cl: tiles of products in registers,
// transposition, exp. -D SAME_DTYPE: X is ACC; OF_F64: ACC is f64.
#define UNROLL _Pragma("unroll")
#if VW >= 16  // rows of a tile of two vectors or one: of 32 registers or 16
#define MR 8
#else
#define MR 4
#endif

#define TILE(ROWS, NV)                                                                               \
  {                                                                                                  \
    V sum[ROWS][NV];                                                                                 \
    UNROLL for (int r = 0; r < ROWS; ++r)                                                            \
        UNROLL for (int j = 0; j < NV; ++j) sum[r][j] = adds ? GET(j, to + r * c_row) : (V)(0);      \
    for (long l = 0; l < k; ++l) {                                                                   \
      V row[NV];                                                                                     \
      UNROLL for (int j = 0; j < NV; ++j) row[j] = GET(j, b + l * b_row + column);                   \
      UNROLL for (int r = 0; r < ROWS; ++r) {                                                        \
        const V x = (V)(a[(i + r) * a_row + l * a_column]);                                          \
        UNROLL for (int j = 0; j < NV; ++j) sum[r][j] = fma(x, row[j], sum[r][j]);                   \
      }                                                                                              \
    }                                                                                                \
    UNROLL for (int r = 0; r < ROWS; ++r)                                                            \
        UNROLL for (int j = 0; j < NV; ++j)                                                          \
            PUT(factor ? sum[r][j] * (V)(factor[i + r]) : sum[r][j], j, to + r * c_row);             \
  }
#define TILES(ROWS)                      \
  for (; i + ROWS <= rows; i += ROWS) {  \
    Room to = c + i * c_row + column;    \
    if (column + VW < n)                 \
      TILE(ROWS, 2)                      \
    else                                 \
      TILE(ROWS, 1)                      \
  }

// c[rows, n] = or += a[rows, k] b[k, n], n of whole vectors; `factor`, unless 0, has one for each row.
INLINE void multiply(Numbers a, long a_row, long a_column, long k, Numbers b, long b_row, long n, Room c, long c_row,
                     long rows, int adds, const W* factor) {
  for (long column = 0; column < n; column += 2 * VW) {
    long i = 0;
    TILES(MR)
#if MR > 4
    TILES(4)
#endif
    TILES(1)
  }
}

// a0 b0 a1 b1 .. of the lower or the upper lanes
#if VW == 16
#define LOWER(a, b) \
  (V)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define UPPER(a, b) \
  (V)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf)
#elif VW == 8
#define LOWER(a, b) (V)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3)
#define UPPER(a, b) (V)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#elif VW == 4
#define LOWER(a, b) (V)(a.s0, b.s0, a.s1, b.s1)
#define UPPER(a, b) (V)(a.s2, b.s2, a.s3, b.s3)
#else
#define LOWER(a, b) (V)(a.s0, b.s0)
#define UPPER(a, b) (V)(a.s1, b.s1)
#endif

INLINE void transpose(V* x) {
  UNROLL for (int done = 1; done < VW; done *= 2) {
    V y[VW];
    UNROLL for (int i = 0; i < VW / 2; ++i) {
      y[2 * i] = LOWER(x[i], x[i + VW / 2]);
      y[2 * i + 1] = UPPER(x[i], x[i + VW / 2]);
    }
    UNROLL for (int i = 0; i < VW; ++i) x[i] = y[i];
  }
}

INLINE V lanes_from(long first) {
  W lane[VW];
  for (int c = 0; c < VW; ++c) lane[c] = first + c;
  return GET(0, lane);
}

// A vector of X, and the first `many` lanes of one with zeros behind.
INLINE V load_vector(From x) {
#ifdef SAME_DTYPE
  return GET(0, x);
#else
  W part[VW];
  INDEPENDENT
  for (int c = 0; c < VW; ++c) part[c] = LOAD(X, x, c);
  return GET(0, part);
#endif
}
INLINE V load_lanes(From x, long many) {
  if (many >= VW) return load_vector(x);
  W part[VW];
  for (int c = 0; c < VW; ++c) part[c] = c < many ? LOAD(X, x, c) : 0;
  return GET(0, part);
}
// to[n, pitch] = the transpose of x[rows, n] by `scale`; zeros behind its rows, up to whole vectors.
INLINE void pack_transposed(From x, long step, long rows, long n, W scale, Room to, long pitch) {
  for (long i = 0; i < rows; i += VW)
    for (long j = 0; j < n; j += VW) {
      V v[VW];
      UNROLL for (int r = 0; r < VW; ++r) v[r] = i + r < rows ? load_lanes(x + (i + r) * step + j, n - j) : (V)(0);
      transpose(v);
      UNROLL for (int c = 0; c < VW; ++c) if (j + c < n) PUT(v[c] * (V)(scale), 0, to + (j + c) * pitch + i);
    }
}

// The other way, x[n, pitch] to rows of `to`.
INLINE void unpack_transposed(Numbers x, long pitch, long rows, long n, To to, long step) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < n; ++j) STORE(X, to, i * step + j, x[j * pitch + i]);
}
INLINE void pack(From x, long step, long rows, long n, Room to, long pitch) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < n; j += VW) PUT(load_lanes(x + i * step + j, n - j), 0, to + i * pitch + j);
}
INLINE void unpack(Numbers x, long pitch, long rows, long n, To to, long step) {
  for (long i = 0; i < rows; ++i) {
    INDEPENDENT
    for (long j = 0; j < n; ++j) STORE(X, to, i * step + j, x[i * pitch + j]);
  }
}

#ifdef OF_F64
INLINE V exp_of(V x) { return exp(x); }
#else
// To 2 units in the last place; 0 below the least normal number, NaN of NaN.
INLINE V exp_of(V x) {
  typedef JOIN(int, VW) Bits;
  const V least = (V)(-87.33f), most = (V)(88.8f), round = (V)(0x1.8p23f);
  const V above = x < least ? least : x, in = above > most ? most : above;
  const V with = fma(in, (V)(0x1.715476p0f), round), n = with - round;
  const V r = fma(n, (V)(0x1.05c61p-29f), fma(n, (V)(-0x1.62e43p-1f), in));
  V p = fma(r, (V)(0x1.6850e4p-10f), (V)(0x1.123bccp-7f));
  p = fma(p, r, (V)(0x1.555b98p-5f));
  p = fma(p, r, (V)(0x1.55548ep-3f));
  p = fma(p, r, (V)(0x1.fffff8p-2f));
  p = fma(p, r, (V)(1.0f));
  p = fma(p, r, (V)(1.0f));
  p *= JOIN(as_float, VW)((JOIN(as_int, VW)(with) << (Bits)(23)) + (Bits)(0x3f800000));
  return x < least ? (V)(0) : p;
}
#endif
