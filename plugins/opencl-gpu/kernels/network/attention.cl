// attention and its gradient; after philox.cl and rows.cl. q, y [B,T,N,D], k, v [B,S,M,D], bias [B|1,N|1,T|1,S], lse
// [B,N,T]; query head n reads head n M / N. X: dtype of these, ACC: of lse and of all that is computed.
typedef WIDE(ACC) W;
typedef __global W* Room;
typedef const __global W* Numbers;
typedef const __global STORED(X) * From;
typedef __global STORED(X) * To;
#define ELEMENTS(name) POINTER(const STORED(X), name)
#define INLINE static inline __attribute__((always_inline))

typedef struct {
  long B, T, N, D, S, M;
  long block, d_pitch, room;             // CPU devices: queries at a time, a row in a room; a room's elements
  long packs, whole;                     // CPU devices: rows are copied into rooms; rows are whole vectors as they are
  long bias_b, bias_n, bias_t;           // strides; 0 where it repeats
  long before;                           // draws of replicas before this device's
  int causal, biased, wants_bias;        // wants_bias: its gradient
  uint stream, limit;                    // a draw below drops; 0: none is
} Attention;

INLINE long keys_of(const Attention* a, long t) {
  return a->causal ? clamp(t + a->S - a->T + 1, 0L, a->S) : a->S;
}
INLINE long head_of(const Attention* a, long n) { return n / (a->N / a->M); }
INLINE long query_place(const Attention* a, long b, long t, long n) { return ((b * a->T + t) * a->N + n) * a->D; }
INLINE long key_place(const Attention* a, long b, long s, long m) { return ((b * a->S + s) * a->M + m) * a->D; }
INLINE long bias_place(const Attention* a, long b, long t, long n) {
  return b * a->bias_b + n * a->bias_n + t * a->bias_t;
}
