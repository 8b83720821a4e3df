// Gradients of attention on GPUs, after attention_blocks.cl: scores are computed again, for blocks of queries that go over
// keys, and for blocks of keys that go over queries.

// p = probabilities of scores s, g = d loss / d score from d loss / d probability.
INLINE W score_grad(W score, W lse, W g, W kept, W delta, W* p) {
  *p = exp(score - lse);
  return *p * (g * kept - delta);
}

// sum(dy y) of a group's queries; `parts` is any local memory.
INLINE void deltas_of(From y, long step, long rows, long n, Rows dy, __local W (*parts)[BR], int x, int of_y, W* delta) {
  EACH_OF(i, RI) {
    const int row = of_y + LY * i;
    W4 sum = (W4)(0);
    if (row < rows)
      for (int c = x; c < VECTORS; c += LX) sum += load_some(y + row * step, 4 * c, n) * *(const __local W4*)&dy[row][4 * c];
    parts[x][row] = (sum.s0 + sum.s1) + (sum.s2 + sum.s3);
  }
  ALL_MEET;
  EACH_OF(i, RI) {
    delta[i] = 0;
    EACH_OF(k, LX) delta[i] += parts[k][of_y + LY * i];
  }
}

// dq, dbias, and sum(dy y) of each query.
__kernel BY_BLOCKS void attention_grad_queries(MEM(dq), MEM(dbias), MEM(deltas), MEM(dy), MEM(q), MEM(k), MEM(v), MEM(y),
                                               MEM(lse), MEM(bias), MEM(seed), MEM(step), MEM(room), Attention s, W scale,
                                               W keep) {
  __local W queries[BR][PITCH] ALIGNED, dys[BR][PITCH] ALIGNED, keys[BO][PITCH] ALIGNED, values[BO][PITCH] ALIGNED;
  __local W tile[BR][TILE_PITCH] ALIGNED, parts[LX][BR];
  const Attention* a = &s;
  const long blocks = (a->T + BR - 1) / BR, step_q = a->N * a->D, step_k = a->M * a->D;
  WORK_ITEM
  DRAWS
  for (long u = get_group_id(0); u < a->B * a->N * blocks; u += get_num_groups(0)) {
    const long t0 = u % blocks * BR, n = u / blocks % a->N, b = u / blocks / a->N, rows = min((long)BR, a->T - t0);
    const long query = query_place(a, b, t0, n), key = key_place(a, b, 0, head_of(a, n)), first = (b * a->N + n) * a->T + t0;
    const long most = a->wants_bias ? a->S : keys_of(a, t0 + rows - 1);
    From bias = ELEMENTS(bias) + bias_place(a, b, t0, n);
    W lse[RI], delta[RI], factor[RI], score[RI][RJ], g[RI][RJ];
    long seen[RI];
    W4 dq[RI][RD];
    clear_rows(dq);
    ALL_MEET;
    load_rows(ELEMENTS(q) + query, step_q, rows, a->D, BR, scale, item, queries);
    load_rows(ELEMENTS(dy) + query, step_q, rows, a->D, BR, 1, item, dys);
    ALL_MEET;
    deltas_of(ELEMENTS(y) + query, step_q, rows, a->D, dys, parts, x, y, delta);
    EACH_OF(i, RI) {
      const int there = ROW(i) < rows;
      lse[i] = there ? POINTER(const W, lse)[first + ROW(i)] : -INFINITY;
      seen[i] = lse[i] == -INFINITY ? 0 : keys_of(a, t0 + ROW(i));
      factor[i] = scale;
      if (x == 0 && there) POINTER(W, deltas)[first + ROW(i)] = delta[i];
    }
    for (long i0 = 0; i0 < most; i0 += BO) {
      ALL_MEET;
      load_rows(ELEMENTS(k) + key + i0 * step_k, step_k, a->S - i0, a->D, BO, 1, item, keys);
      load_rows(ELEMENTS(v) + key + i0 * step_k, step_k, a->S - i0, a->D, BO, 1, item, values);
      if (a->limit) draw_tile(a, seed, step, first * a->S + i0, keep, item, BR, BO, TILE_PITCH, 1, &tile[0][0]);
      ALL_MEET;
      multiply_rows(queries, keys, x, y, score);
      multiply_rows(dys, values, x, y, g);
      EACH_OF(i, RI) EACH_OF(j, RJ) {
        const long at = i0 + OTHER(j);
        W p, x_of = 0;
        if (at < seen[i]) {
          if (a->biased) score[i][j] += LOAD(X, bias, ROW(i) * a->bias_t + at);
          x_of = score_grad(score[i][j], lse[i], g[i][j], a->limit ? tile[ROW(i)][OTHER(j)] : 1, delta[i], &p);
        }
        if (a->wants_bias && ROW(i) < rows && at < a->S)
          STORE(X, POINTER(STORED(X), dbias) + (first + ROW(i)) * a->S, at, x_of);
        g[i][j] = x_of;
      }
      if (a->limit) ALL_MEET;
      EACH_OF(i, RI) EACH_OF(j, RJ) tile[ROW(i)][OTHER(j)] = g[i][j];
      ALL_MEET;
      add_rows(tile, keys, x, y, dq);
    }
    store_rows(dq, factor, rows, a->D, x, y, POINTER(STORED(X), dq) + query, step_q);
  }
}

// dk, dv: what all queries add to keys, in order.
__kernel BY_BLOCKS void attention_grad_keys(MEM(dk), MEM(dv), MEM(deltas), MEM(dy), MEM(q), MEM(k), MEM(v), MEM(y), MEM(lse),
                                            MEM(bias), MEM(seed), MEM(step), MEM(room), Attention s, W scale, W keep) {
  __local W keys[BR][PITCH] ALIGNED, values[BR][PITCH] ALIGNED, queries[BO][PITCH] ALIGNED, dys[BO][PITCH] ALIGNED;
  __local W tile[BR][TILE_PITCH] ALIGNED;
  const Attention* a = &s;
  const long blocks = (a->S + BR - 1) / BR, step_q = a->N * a->D, step_k = a->M * a->D, shared = a->N / a->M;
  WORK_ITEM
  DRAWS
  for (long u = get_group_id(0); u < a->B * a->M * blocks; u += get_num_groups(0)) {
    const long i0 = u % blocks * BR, m = u / blocks % a->M, b = u / blocks / a->M, rows = min((long)BR, a->S - i0);
    const long key = key_place(a, b, i0, m), least = a->causal ? max(i0 + a->T - a->S, 0L) / BO * BO : 0;
    W score[RI][RJ], g[RI][RJ], factor[RI], one[RI];
    W4 dk[RI][RD], dv[RI][RD];
    clear_rows(dk);
    clear_rows(dv);
    EACH_OF(i, RI) factor[i] = scale, one[i] = 1;
    ALL_MEET;
    load_rows(ELEMENTS(k) + key, step_k, rows, a->D, BR, scale, item, keys);
    load_rows(ELEMENTS(v) + key, step_k, rows, a->D, BR, 1, item, values);
    for (long n = m * shared; n < (m + 1) * shared; ++n)
      for (long t0 = least; t0 < a->T; t0 += BO) {
        const long query = query_place(a, b, t0, n), first = (b * a->N + n) * a->T + t0;
        ALL_MEET;
        load_rows(ELEMENTS(q) + query, step_q, a->T - t0, a->D, BO, 1, item, queries);
        load_rows(ELEMENTS(dy) + query, step_q, a->T - t0, a->D, BO, 1, item, dys);
        if (a->limit) draw_tile(a, seed, step, first * a->S + i0, keep, item, BO, BR, 1, TILE_PITCH, &tile[0][0]);
        ALL_MEET;
        multiply_rows(keys, queries, x, y, score);
        multiply_rows(values, dys, x, y, g);
        EACH_OF(j, RJ) {
          const long t = t0 + OTHER(j);
          const int there = t < a->T;
          const W lse = there ? POINTER(const W, lse)[first + OTHER(j)] : -INFINITY;
          const W delta = there ? POINTER(const W, deltas)[first + OTHER(j)] : 0;
          const long seen = lse == -INFINITY ? 0 : keys_of(a, t);
          From bias = ELEMENTS(bias) + bias_place(a, b, t, n);
          EACH_OF(i, RI) {
            W p = 0, kept = a->limit ? tile[ROW(i)][OTHER(j)] : 1;
            if (i0 + ROW(i) < seen) {
              if (a->biased) score[i][j] += LOAD(X, bias, i0 + ROW(i));
              g[i][j] = score_grad(score[i][j], lse, g[i][j], kept, delta, &p);
            } else {
              g[i][j] = 0;
            }
            score[i][j] = p * kept;
          }
        }
        if (a->limit) ALL_MEET;
        EACH_OF(i, RI) EACH_OF(j, RJ) tile[ROW(i)][OTHER(j)] = score[i][j];
        ALL_MEET;
        add_rows(tile, dys, x, y, dv);
        ALL_MEET;
        EACH_OF(i, RI) EACH_OF(j, RJ) tile[ROW(i)][OTHER(j)] = g[i][j];
        ALL_MEET;
        add_rows(tile, queries, x, y, dk);
      }
    store_rows(dk, factor, rows, a->D, x, y, POINTER(STORED(X), dk) + key, step_k);
    store_rows(dv, one, rows, a->D, x, y, POINTER(STORED(X), dv) + key, step_k);
  }
}
