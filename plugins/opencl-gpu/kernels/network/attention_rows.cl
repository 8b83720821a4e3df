// Attention on GPUs of few queries, or of heads that are too large for blocks in local memory, after attention.cl and
// vectors.cl: a work-group has a query, or a key; what it computes of the others lies in a room.
#define ALL_SEE barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

INLINE W product_of(From x, From y, long n) {
  V4(X) four = (V4(X))(0);
  long i = 0;
  for (; i + 4 <= n; i += 4) four += LOAD4(X, x + i) * LOAD4(X, y + i);
  W sum = (four.s0 + four.s1) + (four.s2 + four.s3);
  for (; i < n; ++i) sum += LOAD(X, x, i) * LOAD(X, y, i);
  return sum;
}
// What the dropout makes of 1 for score e.
INLINE W kept_of(const Attention* a, ulong seed, ulong step, ulong e, W keep) {
  if (!a->limit) return 1;
  e += a->before;
  const uint4 four = philox((uint)(e >> 2), a->stream, step, seed);
  const uint w = (e & 2) ? ((e & 1) ? four.w : four.z) : ((e & 1) ? four.y : four.x);
  return w >> 8 >= a->limit ? keep : 0;
}
#define DRAWS                                                    \
  const ulong seed = a->limit ? *POINTER(const ulong, seed) : 0; \
  const ulong step = a->limit ? *POINTER(const ulong, step) : 0;

__kernel void attention(MEM(y), MEM(lse), MEM(q), MEM(k), MEM(v), MEM(bias), MEM(seed), MEM(step), MEM(room),
                        Attention s, W scale, W keep) {
  const Attention* a = &s;
  Room room = POINTER(W, room) + get_group_id(0) * a->room;
  DRAWS
  ROWS_BEGIN
  EACH_ROW(row, (ulong)(a->B * a->N * a->T)) {
    const long t = row % a->T, n = row / a->T % a->N, b = row / a->T / a->N, m = head_of(a, n), seen = keys_of(a, t);
    From q = ELEMENTS(q) + query_place(a, b, t, n), k = ELEMENTS(k) + key_place(a, b, 0, m);
    From v = ELEMENTS(v) + key_place(a, b, 0, m), bias = ELEMENTS(bias) + bias_place(a, b, t, n);
    ROW_LOOP(i, seen) {
      const W x = product_of(q, k + i * a->M * a->D, a->D) * scale;
      room[i] = a->biased ? x + LOAD(X, bias, i) : x;
    }
    W top, sum;
    FOLD(top, (ulong)seen, -INFINITY, ROW_MAX, i, room[i])
    if (top == -INFINITY) top = 0;
    FOLD(sum, (ulong)seen, 0, ROW_ADD, i, exp(room[i] - top))
    const W each = sum == 0 ? 1 : 1 / sum;
    if (ROW_ONCE) POINTER(W, lse)[row] = seen ? top + log(sum) : -INFINITY;
    ROW_LOOP(i, seen) room[i] = exp(room[i] - top) * each * kept_of(a, seed, step, row * a->S + i, keep);
    ALL_SEE;
    ROW_LOOP(d, a->D) {
      W x = 0;
      for (long i = 0; i < seen; ++i) x += room[i] * LOAD(X, v, i * a->M * a->D + d);
      STORE(X, POINTER(STORED(X), y) + query_place(a, b, t, n), d, x);
    }
    ALL_SEE;
  }
}

// dq, dbias, and sum(dy y) of each query.
__kernel void attention_grad_queries(MEM(dq), MEM(dbias), MEM(deltas), MEM(dy), MEM(q), MEM(k), MEM(v), MEM(y),
                                     MEM(lse), MEM(bias), MEM(seed), MEM(step), MEM(room), Attention s, W scale, W keep) {
  const Attention* a = &s;
  Room room = POINTER(W, room) + get_group_id(0) * a->room;
  DRAWS
  ROWS_BEGIN
  EACH_ROW(row, (ulong)(a->B * a->N * a->T)) {
    const long t = row % a->T, n = row / a->T % a->N, b = row / a->T / a->N, m = head_of(a, n), step_k = a->M * a->D;
    const long query = query_place(a, b, t, n), key = key_place(a, b, 0, m);
    From q = ELEMENTS(q) + query, dy = ELEMENTS(dy) + query, y = ELEMENTS(y) + query;
    From k = ELEMENTS(k) + key, v = ELEMENTS(v) + key, bias = ELEMENTS(bias) + bias_place(a, b, t, n);
    const W lse = POINTER(const W, lse)[row];
    const long seen = lse == -INFINITY ? 0 : keys_of(a, t);
    W delta;
    FOLD(delta, (ulong)a->D, 0, ROW_ADD, i, LOAD(X, dy, i) * LOAD(X, y, i))
    if (ROW_ONCE) POINTER(W, deltas)[row] = delta;
    ROW_LOOP(i, a->S) {
      W g = 0;
      if ((long)i < seen) {
        const W x = product_of(q, k + i * step_k, a->D) * scale;
        const W p = exp((a->biased ? x + LOAD(X, bias, i) : x) - lse);
        g = p * (product_of(dy, v + i * step_k, a->D) * kept_of(a, seed, step, row * a->S + i, keep) - delta);
      }
      room[i] = g;
      if (a->wants_bias) STORE(X, POINTER(STORED(X), dbias) + row * a->S, i, g);
    }
    ALL_SEE;
    ROW_LOOP(d, a->D) {
      W x = 0;
      for (long i = 0; i < seen; ++i) x += room[i] * LOAD(X, k, i * step_k + d);
      STORE(X, POINTER(STORED(X), dq) + query, d, x * scale);
    }
    ALL_SEE;
  }
}

// dk, dv: what all queries add to a key, in order.
__kernel void attention_grad_keys(MEM(dk), MEM(dv), MEM(deltas), MEM(dy), MEM(q), MEM(k), MEM(v), MEM(y), MEM(lse), MEM(bias),
                                  MEM(seed), MEM(step), MEM(room), Attention s, W scale, W keep) {
  const Attention* a = &s;
  Room dk = POINTER(W, room) + get_group_id(0) * a->room, dv = dk + a->D, z = dv + a->D, g = z + a->T;
  const long shared = a->N / a->M, step_q = a->N * a->D;
  DRAWS
  ROWS_BEGIN
  EACH_ROW(row, (ulong)(a->B * a->M * a->S)) {
    const long i = row % a->S, m = row / a->S % a->M, b = row / a->S / a->M, key = key_place(a, b, i, m);
    From k = ELEMENTS(k) + key, v = ELEMENTS(v) + key;
    ROW_LOOP(d, a->D) dk[d] = dv[d] = 0;
    for (long n = m * shared; n < (m + 1) * shared; ++n) {
      const long query = query_place(a, b, 0, n), first = (b * a->N + n) * a->T;
      From q = ELEMENTS(q) + query, dy = ELEMENTS(dy) + query;
      ROW_LOOP(t, a->T) {
        const W lse = POINTER(const W, lse)[first + t];
        W p = 0, kept = 0, grad = 0;
        if (i < keys_of(a, t) && lse != -INFINITY) {
          W x = product_of(q + t * step_q, k, a->D) * scale;
          if (a->biased) x += LOAD(X, ELEMENTS(bias) + bias_place(a, b, t, n), i);
          p = exp(x - lse);
          kept = kept_of(a, seed, step, (first + t) * a->S + i, keep);
          grad = p * (product_of(dy + t * step_q, v, a->D) * kept - POINTER(const W, deltas)[first + t]);
        }
        z[t] = p * kept;
        g[t] = grad;
      }
      ALL_SEE;
      ROW_LOOP(d, a->D) {
        W to_k = dk[d], to_v = dv[d];
        for (long t = 0; t < a->T; ++t) {
          to_k += g[t] * LOAD(X, q, t * step_q + d);
          to_v += z[t] * LOAD(X, dy, t * step_q + d);
        }
        dk[d] = to_k, dv[d] = to_v;
      }
      ALL_SEE;
    }
    ROW_LOOP(d, a->D) {
      STORE(X, POINTER(STORED(X), dk) + key, d, dk[d] * scale);
      STORE(X, POINTER(STORED(X), dv) + key, d, dv[d]);
    }
  }
}
