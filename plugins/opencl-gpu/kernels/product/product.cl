// Sums of products: c[p,m,n] = act(sum_k a(p,m,k) b(p,k,n) + bias + residual). -D T: dtype of the operands, A_IS: what
// a is. Fields as opencl_gpu::Product has them (products.h).
#define MATRIX 0     // rows by strides
#define MATRIX_T 1   // columns by strides
#define WINDOWS 2    // m: points that a window belongs to, k: its taps and their channels
#define WINDOWS_T 3  // the other way round

#define INLINE static inline __attribute__((always_inline))

typedef WIDE(T) W;
typedef const __global STORED(T) * From;
typedef __global W* Room;
typedef struct {
  long batch, m, n, k;
  long a_batch, a_row, a_column;
  long b_batch, b_inner, b_outer_row, b_row, b_column;
  long c_batch, c_row;
  long channels, pitch;
  long from[3], to[3], taps[3], up[3], step[3], shift[3], down[3];
  long alpha_f64;  // bits
  float alpha, floor;
  int chunks, dense, bias, residual;
} Product;

// -D JOINT: p is one of three products of the same a, whose b, bias and c are memory of their own each.
#ifdef JOINT
#define JOINT_MEMORY , MEM(b1), MEM(bias1), MEM(c1), MEM(b2), MEM(bias2), MEM(c2)
#define MEMBER(T, name, p) ((p) == 0 ? POINTER(T, name) : (p) == 1 ? POINTER(T, name##1) : POINTER(T, name##2))
#else
#define JOINT_MEMORY
#define MEMBER(T, name, p) POINTER(T, name)
#endif

// Where tap t of a window at `at` lies along axis d of a: q, if INSIDE(s, d, q).
#define WINDOW_AT(s, d, at, t) ((at) * (s)->up[d] + (t) * (s)->step[d] + (s)->shift[d])
#define INSIDE(s, d, q) \
  (q >= 0 && ((s)->down[d] == 1 || (q % (s)->down[d] == 0 && (q /= (s)->down[d], 1))) && q < (s)->from[d])

INLINE W element_of_a(const Product* s, From a, long p, long m, long k) {
#if A_IS == MATRIX || A_IS == MATRIX_T
  return LOAD(T, a, p * s->a_batch + m * s->a_row + k * s->a_column);
#else
#if A_IS == WINDOWS_T
  const long run = m, at = k;
#else
  const long run = k, at = m;
#endif
  const long t = run / s->channels,
             tap[3] = {t / (s->taps[1] * s->taps[2]), t / s->taps[2] % s->taps[1], t % s->taps[2]};
  const long to[3] = {at / (s->to[1] * s->to[2]) % s->to[0], at / s->to[2] % s->to[1], at % s->to[2]};
  long place = at / (s->to[0] * s->to[1] * s->to[2]);
  for (int d = 0; d < 3; ++d) {
    long q = WINDOW_AT(s, d, to[d], tap[d]);
    if (!INSIDE(s, d, q)) return 0;
    place = place * s->from[d] + q;
  }
  return LOAD(T, a, place * s->pitch + p * s->a_batch + run % s->channels);
#endif
}

INLINE W element_of_b(const Product* s, From b, long p, long k, long n) {
  const long row = k / s->b_inner * s->b_outer_row + k % s->b_inner * s->b_row;
  return LOAD(T, b, p * s->b_batch + row + n * s->b_column);
}
