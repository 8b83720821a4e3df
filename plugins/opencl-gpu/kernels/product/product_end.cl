// What comes behind the sums. -D R: dtype of the result, ACT.
typedef struct {
  const __global STORED(R) * bias, *residual;
  __global STORED(R) * c;
} End;

INLINE W alpha_of(const Product *s) {
#ifdef HAS_F64
  if (sizeof(W) == sizeof(double)) return as_double(s->alpha_f64);
#endif
  return s->alpha;
}

ACTIVATION(activated, W)

// Element (p, m, n) of c from its sum.
INLINE void end(const Product *s, End e, long p, long m, long n, W sum) {
  const long at = p * s->c_batch + m * s->c_row + n;
  if (s->bias) sum += LOAD(R, e.bias, p * s->c_batch % s->c_row + n);
  if (s->residual) sum += LOAD(R, e.residual, at);
  STORE(R, e.c, at, activated(sum, alpha_of(s)));
}
