// Sums of products: c[p,m,n] = act(sum_k a(p,m,k) b(p,k,n) + bias + residual). -D T: dtype of the operands, R: of the result,
// A_IS: what a is; ACT. Fields as opencl_gpu::Product has them (products.h).
#define MATRIX 0     // rows by strides
#define WINDOWS 1    // m: points of a convolution's result, k: taps and channels of x
#define GRADIENT 2   // m: points of x, k: taps and channels of dy
#define WINDOWS_T 3  // m: taps and channels of x, k: points of dy
#define MATRIX_T 4   // columns by strides

typedef WIDE(T) W;
typedef struct {
  long batch, m, n, k;
  long a_batch, a_row, a_column;
  long b_batch, b_inner, b_outer_row, b_row, b_column;
  long c_batch, c_row;
  long channels, pitch;
  long from[3], to[3], taps[3], stride[3], dilation[3], low[3];
  long alpha_f64;  // bits
  float alpha;
  int chunks;
} Product;

INLINE W alpha_of(const Product *s) {
#ifdef HAS_F64
  if (sizeof(W) == sizeof(double)) return as_double(s->alpha_f64);
#endif
  return s->alpha;
}

// Where tap t of point `at` of the m (or k) points lies in a, in elements; -1 outside.
INLINE long point_of(const Product *s, long at, long t) {
  long tap[3] = {t / (s->taps[1] * s->taps[2]), t / s->taps[2] % s->taps[1], t % s->taps[2]};
  long to[3] = {at / (s->to[1] * s->to[2]), at / s->to[2] % s->to[1], at % s->to[2]};
  long place = to[0] / s->to[0];
  to[0] %= s->to[0];
  for (int d = 0; d < 3; ++d) {
#if A_IS == GRADIENT
    long q = to[d] + s->low[d] - tap[d] * s->dilation[d];
    if (q < 0 || q % s->stride[d] != 0) return -1;
    q /= s->stride[d];
#else
    long q = to[d] * s->stride[d] + tap[d] * s->dilation[d] - s->low[d];
#endif
    if (q < 0 || q >= s->from[d]) return -1;
    place = place * s->from[d] + q;
  }
  return place * s->pitch;
}

INLINE W element_of_a(const Product *s, const __global STORED(T) *a, long p, long m, long k) {
#if A_IS == MATRIX || A_IS == MATRIX_T
  return LOAD(T, a, p * s->a_batch + m * s->a_row + k * s->a_column);
#else
#if A_IS == WINDOWS_T
  long run = m, point = k;
#else
  long run = k, point = m;
#endif
  long place = point_of(s, point, run / s->channels);
  return place < 0 ? 0 : LOAD(T, a, place + p * s->a_batch + run % s->channels);
#endif
}

INLINE W element_of_b(const Product *s, const __global STORED(T) *b, long p, long k, long n) {
  long row = k / s->b_inner * s->b_outer_row + k % s->b_inner * s->b_row;
  return LOAD(T, b, p * s->b_batch + row + n * s->b_column);
}
