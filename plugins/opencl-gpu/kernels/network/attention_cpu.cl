// Attention on CPU devices, after attention_scores.cl: a work item takes a head's block of queries at a time.
#define CHAINS 4  // sums that do not wait for each other

// Scores become what dropout makes of exp(score - greatest). `each`: 1 / their sum before it, by query.
INLINE void softmax_of(const Attention* a, const Block* o, W keep, W* each, __global W* lse) {
  for (long j = 0; j < o->rows; j += VW) {
    const V lane = lanes_from(j);
    V top = (V)(-INFINITY), sum[CHAINS];
    for (long i = 0; i < o->seen; ++i) {
      const V x = score_of(a, o, i, j, lane);
      if (a->biased || i >= o->alone) PUT(x, 0, o->scores + i * a->block + j);
      top = x > top ? x : top;
    }
    top = top == (V)(-INFINITY) ? (V)(0) : top;
    UNROLL for (int c = 0; c < CHAINS; ++c) sum[c] = (V)(0);
#define EXP_OF(i, c)                                                     \
  {                                                                      \
    Room at = o->scores + (i)*a->block + j;                              \
    const V e = exp_of(GET(0, at) - top);                                \
    sum[c] += e;                                                         \
    PUT(a->limit ? e * kept_of(a, o, i, j, keep) : e, 0, at);            \
  }
    long i = 0;
    for (; i + CHAINS <= o->seen; i += CHAINS) UNROLL for (int c = 0; c < CHAINS; ++c) EXP_OF(i + c, c)
    for (; i < o->seen; ++i) EXP_OF(i, 0)
    const V all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    W logs[VW];
    JOIN(vstore, VW)(top + log(all), 0, logs);
    JOIN(vstore, VW)(all == (V)(0) ? (V)(1) : (V)(1) / all, 0, each + j);
    for (int c = 0; c < VW && j + c < o->rows; ++c) lse[j + c] = logs[c];
  }
}

__kernel void attention(MEM(y), MEM(lse), MEM(q), MEM(k), MEM(v), MEM(bias), MEM(seed), MEM(step), MEM(room),
                        Attention s, W scale, W keep) {
  const Attention* a = &s;
  const long step_q = a->N * a->D, step_k = a->M * a->D, blocks = (a->T + a->block - 1) / a->block;
  Room keys_room = POINTER(W, room) + get_group_id(0) * a->room, values_room = keys_room + a->S * a->d_pitch;
  Block o;
  Room sums = share_out(a, values_room + a->S * a->d_pitch, &o);
  o.seed = a->limit ? *POINTER(const ulong, seed) : 0, o.step = a->limit ? *POINTER(const ulong, step) : 0;
  long packed = -1;
  Rows keys, values;
  EACH(u, (ulong)(a->B * a->N * blocks)) {
    begin_block(a, &o, u / blocks / a->N, u / blocks % a->N, u % blocks * a->block);
    const long m = head_of(a, o.n), key = key_place(a, o.b, 0, m), query = query_place(a, o.b, o.t0, o.n);
    if (packed != o.b * a->M + m) {
      packed = o.b * a->M + m;
      keys = rows_of(a, ELEMENTS(k) + key, step_k, a->S, keys_room);
      values = rows_of(a, ELEMENTS(v) + key, step_k, a->S, values_room);
    }
    scores_of(a, &o, ELEMENTS(q) + query, ELEMENTS(bias), keys, scale);
    W each[MOST_QUERIES];
    softmax_of(a, &o, keep, each, POINTER(W, lse) + first_row(a, &o));
    To y = POINTER(STORED(X), y) + query;
    Room to = sums;
    long to_step = a->d_pitch;
#ifdef SAME_DTYPE
    if (a->whole) to = y, to_step = step_q;
#endif
    multiply(o.scores, 1, a->block, o.seen, values.at, values.step, a->d_pitch, to, to_step, o.rows, 0, each);
    if (!a->whole) unpack(sums, a->d_pitch, o.rows, a->D, y, step_q);
  }
}
