// Attention on GPUs, after attention_blocks.cl: a work-group has a head's block of queries, and goes over its keys and
// values with the greatest score so far.

// Scores become exp(score - greatest so far) in the tile; sums so far by what the greatest grew.
INLINE void fold_scores(W (*p)[RJ], W (*kept)[RJ], const __local W (*largest)[BR], int x, int y, W* top, W* sum,
                        W4 (*out)[RD], Tile tile) {
  EACH_OF(i, RI) {
    W now = top[i];
    EACH_OF(k, LX) now = max(now, largest[k][ROW(i)]);
    const W base = now == -INFINITY ? 0 : now, factor = exp(top[i] - base);
    top[i] = now, sum[i] *= factor;
    EACH_OF(c, RD) out[i][c] *= (W4)(factor);
    EACH_OF(j, RJ) {
      const W e = exp(p[i][j] - base);
      sum[i] += e;
      tile[ROW(i)][OTHER(j)] = e * kept[i][j];
    }
  }
}

INLINE void mask_scores(const Attention* a, From bias, long t0, long i0, int x, int y, W (*p)[RJ],
                        __local W (*largest)[BR]) {
  EACH_OF(i, RI) {
    const long t = t0 + ROW(i), seen = t < a->T ? keys_of(a, t) : 0;
    W most = -INFINITY;
    EACH_OF(j, RJ) {
      const long key = i0 + OTHER(j);
      if (key >= seen)
        p[i][j] = -INFINITY;
      else if (a->biased)
        p[i][j] += LOAD(X, bias, ROW(i) * a->bias_t + key);
      most = max(most, p[i][j]);
    }
    largest[x][ROW(i)] = most;
  }
}

__kernel BY_BLOCKS void attention(MEM(y), MEM(lse), MEM(q), MEM(k), MEM(v), MEM(bias), MEM(seed), MEM(step), MEM(room),
                                  Attention s, W scale, W keep) {
  __local W queries[BR][PITCH] ALIGNED, others[BO][PITCH] ALIGNED, tile[BR][TILE_PITCH] ALIGNED, largest[LX][BR];
  const Attention* a = &s;
  const long blocks = (a->T + BR - 1) / BR, step_q = a->N * a->D, step_k = a->M * a->D;
  WORK_ITEM
  DRAWS
  for (long u = get_group_id(0); u < a->B * a->N * blocks; u += get_num_groups(0)) {
    const long t0 = u % blocks * BR, n = u / blocks % a->N, b = u / blocks / a->N, rows = min((long)BR, a->T - t0);
    const long query = query_place(a, b, t0, n), key = key_place(a, b, 0, head_of(a, n)), first = (b * a->N + n) * a->T + t0;
    const long seen = keys_of(a, t0 + rows - 1);
    W top[RI], sum[RI], p[RI][RJ], kept[RI][RJ];
    W4 out[RI][RD];
    clear_rows(out);
    EACH_OF(i, RI) top[i] = -INFINITY, sum[i] = 0;
    ALL_MEET;
    load_rows(ELEMENTS(q) + query, step_q, rows, a->D, BR, scale, item, queries);
    for (long i0 = 0; i0 < seen; i0 += BO) {
      ALL_MEET;
      load_rows(ELEMENTS(k) + key + i0 * step_k, step_k, a->S - i0, a->D, BO, 1, item, others);
      if (a->limit) draw_tile(a, seed, step, first * a->S + i0, keep, item, BR, BO, TILE_PITCH, 1, &tile[0][0]);
      ALL_MEET;
      multiply_rows(queries, others, x, y, p);
      mask_scores(a, ELEMENTS(bias) + bias_place(a, b, t0, n), t0, i0, x, y, p, largest);
      EACH_OF(i, RI) EACH_OF(j, RJ) kept[i][j] = a->limit ? tile[ROW(i)][OTHER(j)] : 1;
      ALL_MEET;
      load_rows(ELEMENTS(v) + key + i0 * step_k, step_k, a->S - i0, a->D, BO, 1, item, others);
      fold_scores(p, kept, largest, x, y, top, sum, out, tile);
      ALL_MEET;
      add_rows(tile, others, x, y, out);
    }
    ALL_MEET;
    EACH_OF(i, RI) largest[x][ROW(i)] = sum[i];
    ALL_MEET;
    EACH_OF(i, RI) {
      sum[i] = 0;
      EACH_OF(k, LX) sum[i] += largest[k][ROW(i)];
      const W base = top[i] == -INFINITY ? 0 : top[i];
      if (x == 0 && ROW(i) < rows) POINTER(W, lse)[first + ROW(i)] = base + log(sum[i]);
      sum[i] = sum[i] == 0 ? 1 : 1 / sum[i];
    }
    store_rows(out, sum, rows, a->D, x, y, POINTER(STORED(X), y) + query, step_q);
  }
}
