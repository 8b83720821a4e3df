// Attention of few queries without dropout on CPU devices, after attention_tile.cl, as a model that writes a token at a time
// has it: a work item takes neighbouring heads, and reads keys and values where they lie, those of all its heads together.
// D is of whole vectors.

// q . key j0.. of a head, by lane.
INLINE V scores_of_keys(const Attention* a, From q, From keys, long j0) {
  V part[VW];
  UNROLL for (int c = 0; c < VW; ++c) {
    From key = keys + min(j0 + c, a->S - 1) * (a->M * a->D);
    part[c] = load_vector(q) * load_vector(key);
    for (long d = VW; d < a->D; d += VW) part[c] = fma(load_vector(q + d), load_vector(key + d), part[c]);
  }
  transpose(part);
  UNROLL for (int many = VW / 2; many > 0; many /= 2)
      UNROLL for (int c = 0; c < many; ++c) part[c] += part[c + many];
  return part[0];
}

#define OVER_LANES(name, FOLD)                                                            \
  INLINE W name(V x) {                                                                    \
    W lane[VW];                                                                           \
    JOIN(vstore, VW)(x, 0, lane);                                                         \
    UNROLL for (int many = VW / 2; many > 0; many /= 2)                                   \
        UNROLL for (int c = 0; c < many; ++c) lane[c] = FOLD(lane[c], lane[c + many]);    \
    return lane[0];                                                                       \
  }
OVER_LANES(largest_lane, max)
OVER_LANES(sum_of_lanes, ROW_ADD)

// Scores, in whole vectors, become probabilities; log(sum exp).
INLINE W softmax_of(Room scores, long seen) {
  V largest = (V)(-INFINITY), sum = (V)(0);
  for (long j = 0; j < seen; j += VW) {
    const V x = GET(0, scores + j);
    largest = x > largest ? x : largest;
  }
  W top = largest_lane(largest);
  if (top == -INFINITY) top = 0;
  for (long j = 0; j < seen; j += VW) {
    const V e = exp_of(GET(0, scores + j) - (V)(top));
    sum += e;
    PUT(e, 0, scores + j);
  }
  const W all = sum_of_lanes(sum), each = all == 0 ? 1 : 1 / all;
  for (long j = 0; j < seen; j += VW) PUT(GET(0, scores + j) * (V)(each), 0, scores + j);
  return top + log(all);
}

// y[NV vectors] += p[keys] v[keys, .]
#define ADD_VALUES(NV)                                                                                \
  for (; d + NV * VW <= a->D; d += NV * VW) {                                                         \
    V sum[NV];                                                                                        \
    UNROLL for (int j = 0; j < NV; ++j) sum[j] = GET(j, y + d);                                       \
    for (long c = 0; c < keys; ++c) {                                                                 \
      const V x = (V)(p[c]);                                                                          \
      UNROLL for (int j = 0; j < NV; ++j) sum[j] = fma(x, load_vector(v + c * step + d + j * VW), sum[j]); \
    }                                                                                                 \
    UNROLL for (int j = 0; j < NV; ++j) PUT(sum[j], j, y + d);                                        \
  }
INLINE void add_values(const Attention* a, Numbers p, From v, long keys, Room y) {
  const long step = a->M * a->D;
  long d = 0;
  ADD_VALUES(4)
  ADD_VALUES(1)
}

// Heads n0.. of query t.
typedef struct {
  long b, t, n0, heads, seen;
} Heads;

INLINE void scores_of_heads(const Attention* a, Heads h, From q, From k, From bias, W scale, Room scores, long pitch) {
  for (long j = 0; j < h.seen; j += VW)
    for (long i = 0; i < h.heads; ++i) {
      const long n = h.n0 + i;
      V x = scores_of_keys(a, q + i * a->D, k + key_place(a, h.b, 0, head_of(a, n)), j) * (V)(scale);
      if (a->biased) x += load_lanes(bias + bias_place(a, h.b, h.t, n) + j, h.seen - j);
      PUT(j + VW > h.seen && h.seen % VW ? (lanes_from(j) < (V)((W)h.seen) ? x : (V)(-INFINITY)) : x, 0,
          scores + i * pitch + j);
    }
}

__kernel void attention_few(MEM(y), MEM(lse), MEM(q), MEM(k), MEM(v), MEM(bias), MEM(seed), MEM(step), MEM(room),
                            Attention s, W scale, W keep) {
  const Attention* a = &s;
  const long pitch = (a->S + VW - 1) / VW * VW, rows = a->B * a->T * a->N;
  const long end = rows * (get_group_id(0) + 1) / get_num_groups(0);
  Room scores = POINTER(W, room) + get_group_id(0) * a->room, sums = scores + a->N * pitch;
  Heads h;
  for (long u = rows * get_group_id(0) / get_num_groups(0); u < end; u += h.heads) {
    h.b = u / a->N / a->T, h.t = u / a->N % a->T, h.n0 = u % a->N;
    h.heads = min(end - u, a->N - h.n0), h.seen = keys_of(a, h.t);
    const long query = query_place(a, h.b, h.t, h.n0);
    scores_of_heads(a, h, ELEMENTS(q) + query, ELEMENTS(k), ELEMENTS(bias), scale, scores, pitch);
    for (long i = 0; i < h.heads; ++i)
      POINTER(W, lse)[(h.b * a->N + h.n0 + i) * a->T + h.t] = softmax_of(scores + i * pitch, h.seen);
    for (long i = 0; i < h.heads * a->D; i += VW) PUT((V)(0), 0, sums + i);
    for (long j = 0; j < h.seen; j += VW)
      for (long i = 0; i < h.heads; ++i)
        add_values(a, scores + i * pitch + j, ELEMENTS(v) + key_place(a, h.b, j, head_of(a, h.n0 + i)),
                   min((long)VW, h.seen - j), sums + i * a->D);
    unpack(sums, 0, 1, h.heads * a->D, POINTER(STORED(X), y) + query, 0);
  }
}
