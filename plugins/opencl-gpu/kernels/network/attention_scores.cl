// Scores of a block of queries on CPU devices, after attention_tile.cl. They lie transposed, [keys][queries], so that a
// vector has a score of each of its queries: maxima and sums over keys need no step across lanes, and keys and values are
// read as they lie. -D MOST_QUERIES: of a block.

// The words that decide about `count` elements from `first` on.
INLINE Words draw(const Attention* a, ulong seed, ulong step, ulong first, ulong count, __global uint* to) {
  first += a->before;
  const ulong begin = first & ~3ul;
  for (ulong e = begin; e < first + count; e += PER_ITEM) {
    uint words[PER_ITEM];
    random_words((uint)(e >> 2), a->stream, step, seed, words);
    for (int k = 0; k < PER_ITEM; ++k) to[e - begin + k] = words[k];
  }
  return to + (first - begin);
}

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
  Room queries, scores, bias, kept;   // bias: where queries have one each
  From bias_row;                      // where all of them have the same
  __global uint* drawn;
  ulong seed, step;
} Block;

INLINE Room share_out(const Attention* a, Room room, Block* o) {
  o->queries = room, room += a->D * a->block;
  o->scores = room, room += a->S * a->block;
  o->bias = room, room += a->bias_t ? a->S * a->block : 0;
  o->kept = room, room += a->limit ? a->S * a->block : 0;
  o->drawn = (__global uint*)room;
  return room + (a->limit ? a->block * a->S + 3 * PER_ITEM : 0);
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
  if (!a->limit) return;
  Words words = draw(a, o->seed, o->step, first_row(a, o) * a->S, o->rows * a->S, o->drawn);
  pack_kept(words, a->S, o->rows, o->seen, a->limit, o->kept, a->block);
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
