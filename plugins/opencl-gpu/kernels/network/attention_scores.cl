// Scores of a block of queries on CPU devices, after attention_tile.cl. They lie transposed, [keys][queries], so that a
// vector has a score of each of its queries: maxima and sums over keys need no step across lanes, and keys and values are
// read as they lie. -D MOST_QUERIES: of a block.

// Rows of numbers that products read: where they lie, or copied. Rows far apart by a power of two do not stay in a cache
// together.
typedef struct {
  Numbers at;
  long step;
} Rows;
INLINE Rows rows_of(const Attention* a, From x, long step, long rows, Room room) {
#ifdef SAME_DTYPE
  if (!a->packs) return (Rows){x, step};
#endif
  pack(x, step, rows, a->D, room, a->d_pitch);
  return (Rows){room, a->d_pitch};
}

// Queries t0.. of head n; rooms have rows of a->block.
typedef struct {
  long b, n, t0, rows, seen;          // seen: keys by the last of them
  long alone;                         // key i is seen by query t0 + i - alone and later ones
  Room queries, scores, bias;         // bias: where queries have one each
  From bias_row;                      // where all of them have the same
  __global uint* words;               // that decide about scores
  ulong seed, step;
} Block;

INLINE long words_pitch(const Attention* a) { return (a->block + 15) / 16 * 16; }

INLINE Room share_out(const Attention* a, Room room, Block* o) {
  o->queries = room, room += a->D * a->block;
  o->scores = room, room += a->S * a->block;
  o->bias = room, room += a->bias_t ? a->S * a->block : 0;
  o->words = (__global uint*)room;
  return room + (a->limit ? (a->S + 3) * words_pitch(a) : 0);
}

// The words of scores from number `first` on, for sixteen queries at a time. A query's scores begin anywhere in a block of four
// words: the word of a key is the first of four neighbours, or one behind it.
INLINE void draw_words(const Attention* a, const Block* o, ulong first) {
  const uint16 lanes = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (long j = 0; j < o->rows; j += 16) {
    const uint16 at = (uint)(first & 3) + (lanes + (uint)j) * (uint)a->S, behind = at & 3;
    uint16 block = (uint)(first >> 2) + (at >> 2), w[8];
    random_lanes(block, a->stream, o->step, o->seed, w);
    for (long i = 0; i < o->seen; i += 4) {
      random_lanes(++block, a->stream, o->step, o->seed, w + 4);
      UNROLL for (int k = 0; k < 4; ++k) {
        uint16 word = w[k];
        UNROLL for (uint c = 1; c < 4; ++c) word = behind == c ? w[k + c] : word;
        vstore16(word, 0, o->words + (i + k) * words_pitch(a) + j);
      }
      UNROLL for (int k = 0; k < 4; ++k) w[k] = w[k + 4];
    }
  }
}

INLINE void begin_block(const Attention* a, Block* o, long b, long n, long t0) {
  o->b = b, o->n = n, o->t0 = t0, o->rows = min(a->block, a->T - t0);
  o->seen = keys_of(a, t0 + o->rows - 1);
  o->alone = a->causal ? t0 + a->S - a->T : a->S;
}
INLINE long first_row(const Attention* a, const Block* o) { return (o->b * a->N + o->n) * a->T + o->t0; }
INLINE long width_of(const Block* o) { return (o->rows + VW - 1) / VW * VW; }

INLINE void scores_of(const Attention* a, Block* o, From q, From bias, Rows keys, W scale) {
  pack_transposed(q, a->N * a->D, o->rows, a->D, scale, o->queries, a->block);
  multiply(keys.at, keys.step, 1, a->D, o->queries, a->block, width_of(o), o->scores, a->block, o->seen, 0, 0);
  o->bias_row = bias + bias_place(a, o->b, o->t0, o->n);
  if (a->bias_t) pack_transposed(o->bias_row, a->bias_t, o->rows, o->seen, 1, o->bias, a->block);
  if (a->limit) draw_words(a, o, first_row(a, o) * a->S + a->before);
}

// `keep` or 0: what dropout makes of 1 for key i and queries j..
INLINE V kept_of(const Attention* a, const Block* o, long i, long j, W keep) {
  const JOIN(int, VW) keeps = JOIN(vload, VW)(0, o->words + i * words_pitch(a) + j) >> 8 >= (JOIN(uint, VW))(a->limit);
  return JOIN(convert_, V)(keeps) * (V)(-keep);
}

// The score of key i for queries j.. of a block; -infinity for those that do not see it.
INLINE V score_of(const Attention* a, const Block* o, long i, long j, V lane) {
  V x = GET(0, o->scores + i * a->block + j);
  if (a->bias_t)
    x += GET(0, o->bias + i * a->block + j);
  else if (a->biased)
    x += (V)(LOAD(X, o->bias_row, i));
  if (i >= o->alone) x = lane < (V)((W)(i - o->alone)) ? (V)(-INFINITY) : x;
  return x;
}
