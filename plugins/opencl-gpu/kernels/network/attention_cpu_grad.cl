// Gradients of attention on CPU devices, after attention_scores.cl: a work item takes a head of keys at a time, whose
// queries add to the gradients of its keys and values, block by block from the last, which sees all keys, and give their
// own.
typedef struct {
  Room dkeys, dvalues, queries, dy, sums, dy_t, y_t, g;
} GradRooms;

// sum(dy y) of each query.
INLINE void deltas_of(const Attention* a, const Block* o, const GradRooms* r, W* delta) {
  for (long j = 0; j < o->rows; j += VW) {
    V d = (V)(0);
    for (long i = 0; i < a->D; ++i)
      d = fma(GET(0, r->dy_t + i * a->block + j), GET(0, r->y_t + i * a->block + j), d);
    JOIN(vstore, VW)(d, 0, delta + j);
  }
}

// Scores become what dropout makes of probabilities, g = d loss / d probability that of the scores by `scale`.
INLINE void scores_grad(const Attention* a, const Block* o, Room g, const __global W* lse, const W* delta, W keep,
                        W scale) {
  for (long j = 0; j < o->rows; j += VW) {
    const V lane = lanes_from(j), d = GET(0, delta + j);
    W l[VW];  // one that saw no key has no gradient
    for (int c = 0; c < VW; ++c) l[c] = j + c < o->rows && lse[j + c] != -INFINITY ? lse[j + c] : INFINITY;
    const V logs = GET(0, l);
    for (long i = 0; i < o->seen; ++i) {
      const V e = exp_of(score_of(a, o, i, j, lane) - logs);
      const V kept = a->limit ? kept_of(a, o, i, j, keep) : (V)(1);
      Room at = g + i * a->block + j;
      PUT(e * kept, 0, o->scores + i * a->block + j);
      PUT(e * (GET(0, at) * kept - d) * (V)(scale), 0, at);
    }
  }
}

// g to dbias; then g by `scale`.
INLINE void bias_grad(const Attention* a, const Block* o, Room g, To to, W scale) {
  unpack_transposed(g, a->block, o->rows, o->seen, to, a->S);
  for (long r = 0; r < o->rows; ++r)
    for (long i = o->seen; i < a->S; ++i) STORE(X, to, r * a->S + i, (W)0);
  for (long i = 0; i < o->seen * a->block; i += VW) PUT(GET(0, g + i) * (V)(scale), 0, g + i);
}

__kernel void attention_grad(MEM(dq), MEM(dk), MEM(dv), MEM(dbias), MEM(dy), MEM(q), MEM(k), MEM(v), MEM(y), MEM(lse),
                             MEM(bias), MEM(seed), MEM(step), MEM(room), Attention s, W scale, W keep) {
  const Attention* a = &s;
  const long bp = a->block, dp = a->d_pitch, shared = a->N / a->M, step_q = a->N * a->D, step_k = a->M * a->D;
  Room keys_room = POINTER(W, room) + get_group_id(0) * a->room, values_room = keys_room + a->S * dp;
  GradRooms r;
  r.dkeys = values_room + a->S * dp, r.dvalues = r.dkeys + a->S * dp, r.queries = r.dvalues + a->S * dp;
  r.dy = r.queries + bp * dp, r.sums = r.dy + bp * dp, r.dy_t = r.sums + bp * dp, r.y_t = r.dy_t + a->D * bp;
  r.g = r.y_t + a->D * bp;
  Block o;
  share_out(a, r.g + a->S * bp, &o);
  o.seed = a->limit ? *POINTER(const ulong, seed) : 0, o.step = a->limit ? *POINTER(const ulong, step) : 0;
  EACH(u, (ulong)(a->B * a->M)) {
    const long b = u / a->M, m = u % a->M, key = key_place(a, b, 0, m);
    const Rows keys = rows_of(a, ELEMENTS(k) + key, step_k, a->S, keys_room);
    const Rows values = rows_of(a, ELEMENTS(v) + key, step_k, a->S, values_room);
    To dk_to = POINTER(STORED(X), dk) + key, dv_to = POINTER(STORED(X), dv) + key;
    Room dk = r.dkeys, dv = r.dvalues;
    long step_d = dp;
#ifdef SAME_DTYPE
    if (!a->packs) dk = dk_to, dv = dv_to, step_d = step_k;
#endif
    int adds = 0;
    for (long n = m * shared; n < (m + 1) * shared; ++n)
      for (long t0 = (a->T - 1) / bp * bp; t0 >= 0; t0 -= bp, adds = 1) {
        begin_block(a, &o, b, n, t0);
        const long query = query_place(a, b, t0, n), first = first_row(a, &o);
        From q = ELEMENTS(q) + query, dy = ELEMENTS(dy) + query;
        const Rows queries = rows_of(a, q, step_q, o.rows, r.queries), dys = rows_of(a, dy, step_q, o.rows, r.dy);
        scores_of(a, &o, q, ELEMENTS(bias), keys, scale);
        pack_transposed(dy, step_q, o.rows, a->D, 1, r.dy_t, bp);
        pack_transposed(ELEMENTS(y) + query, step_q, o.rows, a->D, 1, r.y_t, bp);
        multiply(values.at, values.step, 1, a->D, r.dy_t, bp, width_of(&o), r.g, bp, o.seen, 0, 0);
        W delta[MOST_QUERIES];
        deltas_of(a, &o, &r, delta);
        scores_grad(a, &o, r.g, POINTER(const W, lse) + first, delta, keep, a->wants_bias ? 1 : scale);
        if (a->wants_bias) bias_grad(a, &o, r.g, POINTER(STORED(X), dbias) + first * a->S, scale);
        multiply(o.scores, bp, 1, o.rows, dys.at, dys.step, dp, dv, step_d, o.seen, adds, 0);
        multiply(r.g, bp, 1, o.rows, queries.at, queries.step, dp, dk, step_d, o.seen, adds, 0);
        To dq_to = POINTER(STORED(X), dq) + query;
        Room dq = r.sums;
        long step_dq = dp;
#ifdef SAME_DTYPE
        if (a->whole) dq = dq_to, step_dq = step_q;
#endif
        multiply(r.g, 1, bp, o.seen, keys.at, keys.step, dp, dq, step_dq, o.rows, 0, 0);
        if (!a->whole) unpack(r.sums, dp, o.rows, a->D, dq_to, step_q);
      }
    if (!a->packs) continue;
    unpack(r.dkeys, dp, a->S, a->D, dk_to, step_k);
    unpack(r.dvalues, dp, a->S, a->D, dv_to, step_k);
  }
}
