// Attention on CPU devices, after attention.cl: a work item takes a head's block of queries at a time, or for the
// gradients a head of keys.
#define V JOIN(W_VECTOR, VW)
#define GET JOIN(vload, VW)
#define PUT JOIN(vstore, VW)
#define MR 4  // rows of a tile in registers, of two vectors or one

#define TILE(NV)                                                                                        \
  {                                                                                                     \
    V sum[MR][NV];                                                                                      \
    _Pragma("unroll") for (int r = 0; r < MR; ++r)                                                      \
        _Pragma("unroll") for (int j = 0; j < NV; ++j) sum[r][j] = adds ? GET(j, to + r * c_row) : (V)(0); \
    for (long l = 0; l < k; ++l) {                                                                      \
      V row[NV];                                                                                        \
      _Pragma("unroll") for (int j = 0; j < NV; ++j) row[j] = GET(j, b + l * b_row + column);           \
      _Pragma("unroll") for (int r = 0; r < MR; ++r) {                                                  \
        const V x = (V)(a[(i + r) * a_row + l * a_column]);                                             \
        _Pragma("unroll") for (int j = 0; j < NV; ++j) sum[r][j] = fma(x, row[j], sum[r][j]);           \
      }                                                                                                 \
    }                                                                                                   \
    _Pragma("unroll") for (int r = 0; r < MR; ++r)                                                      \
        _Pragma("unroll") for (int j = 0; j < NV; ++j) PUT(sum[r][j], j, to + r * c_row);               \
  }

// c[rows, n] = or += a[rows, k] b[k, n], in rooms: rows up to whole tiles, n whole vectors.
INLINE void multiply(Numbers a, long a_row, long a_column, long k, Numbers b, long b_row, long n, Room c, long c_row,
                     long rows, int adds) {
  for (long column = 0; column < n; column += 2 * VW)
    for (long i = 0; i < rows; i += MR) {
      Room to = c + i * c_row + column;
      if (column + VW < n)
        TILE(2)
      else
        TILE(1)
    }
}

INLINE void pack(From x, long step, long rows, long n, Room to, long pitch) {
  for (long i = 0; i < rows; ++i) {
    INDEPENDENT
    for (long j = 0; j < n; ++j) to[i * pitch + j] = LOAD(X, x, i * step + j);
    for (long j = n; j < pitch; ++j) to[i * pitch + j] = 0;
  }
}
INLINE void pack_transposed(From x, long step, long rows, long n, Room to, long pitch) {
  for (long j = 0; j < n; ++j) {
    INDEPENDENT
    for (long i = 0; i < rows; ++i) to[j * pitch + i] = LOAD(X, x, i * step + j);
    for (long i = rows; i < pitch; ++i) to[j * pitch + i] = 0;
  }
}
INLINE void unpack(Numbers x, long pitch, long rows, long n, W scale, To to, long step) {
  for (long i = 0; i < rows; ++i) {
    INDEPENDENT
    for (long j = 0; j < n; ++j) STORE(X, to, i * step + j, x[i * pitch + j] * scale);
  }
}

// The words that decide about `count` elements from `first` on.
INLINE const __global uint* draw(const Attention* a, ulong seed, ulong step, ulong first, ulong count,
                                 __global uint* to) {
  first += a->before;
  const ulong begin = first & ~3ul;
  for (ulong e = begin; e < first + count; e += PER_ITEM) {
    uint words[PER_ITEM];
    random_words((uint)(e >> 2), a->stream, step, seed, words);
    for (int k = 0; k < PER_ITEM; ++k) to[e - begin + k] = words[k];
  }
  return to + (first - begin);
}

INLINE void scores_of(const Attention* a, From bias, long at, W scale, long n, Room s) {
  if (a->biased) {
    INDEPENDENT
    for (long i = 0; i < n; ++i) s[i] = s[i] * scale + LOAD(X, bias, at + i);
  } else {
    INDEPENDENT
    for (long i = 0; i < n; ++i) s[i] *= scale;
  }
}

#define VECTORS (ROW_LANES / VW)
// Folds s[n] in the order of FOLD, by vectors. Behind the last of s it writes IDENTITY, up to a whole vector.
#define FOLD_OF(fold, COMBINE, IDENTITY)                                                                              \
  INLINE W fold(long n, Room s) {                                                                                     \
    V lanes[VECTORS];                                                                                                 \
    _Pragma("unroll") for (int j = 0; j < VECTORS; ++j) lanes[j] = (V)(IDENTITY);                                     \
    for (long i = n; i % VW != 0; ++i) s[i] = IDENTITY;                                                               \
    long done = 0;                                                                                                    \
    for (; done + ROW_LANES <= n; done += ROW_LANES)                                                                  \
      _Pragma("unroll") for (int j = 0; j < VECTORS; ++j) lanes[j] = COMBINE(lanes[j], GET(j, s + done));             \
    _Pragma("unroll") for (int j = 0; j < VECTORS; ++j)                                                               \
        if (done + j * VW < n) lanes[j] = COMBINE(lanes[j], GET(j, s + done));                                        \
    _Pragma("unroll") for (int many = VECTORS / 2; many > 0; many /= 2)                                               \
        _Pragma("unroll") for (int j = 0; j < many; ++j) lanes[j] = COMBINE(lanes[j], lanes[j + many]);               \
    W last[VW];                                                                                                       \
    PUT(lanes[0], 0, last);                                                                                           \
    _Pragma("unroll") for (int many = VW / 2; many > 0; many /= 2)                                                    \
        _Pragma("unroll") for (int k = 0; k < many; ++k) last[k] = COMBINE(last[k], last[k + many]);                  \
    return last[0];                                                                                                   \
  }
FOLD_OF(largest_of, ROW_MAX, -INFINITY)
FOLD_OF(sum_of, ROW_ADD, 0)

// Scores become probabilities; their log(sum exp).
INLINE W softmax_of(long n, Room s) {
  if (n == 0) return -INFINITY;
  W top = largest_of(n, s);
  if (top == -INFINITY) top = 0;
  INDEPENDENT
  for (long i = 0; i < n; ++i) s[i] = exp(s[i] - top);
  const W sum = sum_of(n, s);
  const W each = sum == 0 ? 1 : 1 / sum;
  INDEPENDENT
  for (long i = 0; i < n; ++i) s[i] *= each;
  return top + log(sum);
}

__kernel void attention(MEM(y), MEM(lse), MEM(q), MEM(k), MEM(v), MEM(bias), MEM(seed), MEM(step), MEM(room),
                        Attention s, W scale, W keep) {
  const Attention* a = &s;
  Room keys = POINTER(W, room) + get_group_id(0) * a->room, values = keys + a->D * a->s_pitch;
  Room queries = values + a->S * a->d_pitch, scores = queries + a->block * a->d_pitch;
  Room sums = scores + a->block * a->s_pitch;
  __global uint* drawn = (__global uint*)(sums + a->block * a->d_pitch);
  const ulong seed = a->limit ? *POINTER(const ulong, seed) : 0, step = a->limit ? *POINTER(const ulong, step) : 0;
  const long blocks = (a->T + a->block - 1) / a->block;
  long packed = -1;
  EACH(u, (ulong)(a->B * a->N * blocks)) {
    const long t0 = u % blocks * a->block, n = u / blocks % a->N, b = u / blocks / a->N, m = head_of(a, n);
    const long rows = min(a->block, a->T - t0), most = keys_of(a, t0 + rows - 1), first = (b * a->N + n) * a->T + t0;
    if (packed != b * a->M + m) {
      packed = b * a->M + m;
      pack_transposed(ELEMENTS(k) + key_place(a, b, 0, m), a->M * a->D, a->S, a->D, keys, a->s_pitch);
      pack(ELEMENTS(v) + key_place(a, b, 0, m), a->M * a->D, a->S, a->D, values, a->d_pitch);
    }
    pack(ELEMENTS(q) + query_place(a, b, t0, n), a->N * a->D, rows, a->D, queries, a->d_pitch);
    multiply(queries, a->d_pitch, 1, a->D, keys, a->s_pitch, a->s_pitch, scores, a->s_pitch, rows, 0);
    const __global uint* words = a->limit ? draw(a, seed, step, first * a->S, rows * a->S, drawn) : drawn;
    for (long r = 0; r < rows; ++r) {
      Room p = scores + r * a->s_pitch;
      const long seen = keys_of(a, t0 + r);
      scores_of(a, ELEMENTS(bias), bias_place(a, b, t0 + r, n), scale, seen, p);
      POINTER(W, lse)[first + r] = softmax_of(seen, p);
      if (a->limit) {
        INDEPENDENT
        for (long i = 0; i < seen; ++i) p[i] = words[r * a->S + i] >> 8 >= a->limit ? p[i] * keep : 0;
      }
      for (long i = seen; i < most; ++i) p[i] = 0;
    }
    multiply(scores, a->s_pitch, 1, most, values, a->d_pitch, a->d_pitch, sums, a->d_pitch, rows, 0);
    unpack(sums, a->d_pitch, rows, a->D, 1, POINTER(STORED(X), y) + query_place(a, b, t0, n), a->N * a->D);
  }
}

// A head's queries add to the gradients of its keys and values, block by block in order, and give their own.
typedef struct {
  Room keys_t, values_t, keys, dkeys, dvalues, queries, dy, sums, p, z, g;
  __global uint* drawn;
} Rooms;

__kernel void attention_grad(MEM(dq), MEM(dk), MEM(dv), MEM(dbias), MEM(dy), MEM(q), MEM(k), MEM(v), MEM(y), MEM(lse),
                             MEM(bias), MEM(seed), MEM(step), MEM(room), Attention s, W scale, W keep) {
  const Attention* a = &s;
  const long sp = a->s_pitch, dp = a->d_pitch, D = a->D, S = a->S, shared = a->N / a->M;
  const long step_q = a->N * D, step_k = a->M * D;
  Rooms o;
  o.keys_t = POINTER(W, room) + get_group_id(0) * a->room;
  o.values_t = o.keys_t + D * sp, o.keys = o.values_t + D * sp;
  o.dkeys = o.keys + sp * dp, o.dvalues = o.dkeys + sp * dp, o.queries = o.dvalues + sp * dp;
  o.dy = o.queries + a->block * dp, o.sums = o.dy + a->block * dp, o.p = o.sums + a->block * dp;
  o.z = o.p + a->block * sp, o.g = o.z + a->block * sp;
  o.drawn = (__global uint*)(o.g + a->block * sp);
  From bias = ELEMENTS(bias);
  const ulong seed = a->limit ? *POINTER(const ulong, seed) : 0, step = a->limit ? *POINTER(const ulong, step) : 0;
  EACH(u, (ulong)(a->B * a->M)) {
    const long b = u / a->M, m = u % a->M, key = key_place(a, b, 0, m);
    pack_transposed(ELEMENTS(k) + key, step_k, S, D, o.keys_t, sp);
    pack_transposed(ELEMENTS(v) + key, step_k, S, D, o.values_t, sp);
    pack(ELEMENTS(k) + key, step_k, S, D, o.keys, dp);
    for (long i = 0; i < sp * dp; ++i) o.dkeys[i] = 0;
    for (long i = 0; i < sp * dp; ++i) o.dvalues[i] = 0;
    for (long n = m * shared; n < (m + 1) * shared; ++n)
      for (long t0 = 0; t0 < a->T; t0 += a->block) {
        const long rows = min(a->block, a->T - t0), first = (b * a->N + n) * a->T + t0;
        const long query = query_place(a, b, t0, n);
        pack(ELEMENTS(q) + query, step_q, rows, D, o.queries, dp);
        pack(ELEMENTS(dy) + query, step_q, rows, D, o.dy, dp);
        multiply(o.queries, dp, 1, D, o.keys_t, sp, sp, o.p, sp, rows, 0);
        multiply(o.dy, dp, 1, D, o.values_t, sp, sp, o.g, sp, rows, 0);
        const __global uint* words = a->limit ? draw(a, seed, step, first * S, rows * S, o.drawn) : o.drawn;
        for (long r = 0; r < rows; ++r) {
          const long t = t0 + r;
          const W lse = POINTER(const W, lse)[first + r];
          const long seen = lse == -INFINITY ? 0 : keys_of(a, t);  // one that saw no key has no gradient
          Room p = o.p + r * sp, z = o.z + r * sp, g = o.g + r * sp;
          From y = ELEMENTS(y) + query + r * step_q;
          W delta;
          FOLD(delta, (ulong)D, 0, ROW_ADD, i, o.dy[r * dp + i] * LOAD(X, y, i))
          scores_of(a, bias, bias_place(a, b, t, n), scale, seen, p);
          if (a->limit) {
            const __global uint* w = words + r * S;
            INDEPENDENT
            for (long i = 0; i < seen; ++i) {
              const W e = exp(p[i] - lse), kept = w[i] >> 8 >= a->limit ? keep : 0;
              z[i] = e * kept;
              g[i] = e * (g[i] * kept - delta);
            }
          } else {
            INDEPENDENT
            for (long i = 0; i < seen; ++i) {
              const W e = exp(p[i] - lse);
              z[i] = e;
              g[i] = e * (g[i] - delta);
            }
          }
          for (long i = seen; i < sp; ++i) z[i] = g[i] = 0;
          if (a->wants_bias) {
            To db = POINTER(STORED(X), dbias) + (first + r) * S;
            for (long i = 0; i < S; ++i) STORE(X, db, i, g[i]);
          }
        }
        multiply(o.z, 1, sp, rows, o.dy, dp, dp, o.dvalues, dp, S, 1);
        multiply(o.g, 1, sp, rows, o.queries, dp, dp, o.dkeys, dp, S, 1);
        multiply(o.g, sp, 1, S, o.keys, dp, dp, o.sums, dp, rows, 0);
        unpack(o.sums, dp, rows, D, scale, POINTER(STORED(X), dq) + query, step_q);
      }
    unpack(o.dkeys, dp, S, D, scale, POINTER(STORED(X), dk) + key, step_k);
    unpack(o.dvalues, dp, S, D, 1, POINTER(STORED(X), dv) + key, step_k);
  }
}
