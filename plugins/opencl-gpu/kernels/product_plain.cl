// One element of c at a time: for few elements, and for shapes that the tiled kernels leave.
ACTIVATION(activated, W)

__kernel void product_plain(Product s, MEM(a), MEM(b), MEM(bias), MEM(residual), MEM(c)) {
  const __global STORED(T) *a = POINTER(const STORED(T), a), *b = POINTER(const STORED(T), b);
  const __global STORED(R) *bias = POINTER(const STORED(R), bias), *residual = POINTER(const STORED(R), residual);
  __global STORED(R) *c = POINTER(STORED(R), c);
  EACH(i, (ulong)(s.batch * s.m * s.n)) {
    const long n = i % s.n, m = i / s.n % s.m, p = i / (s.n * s.m);
    const long at = p * s.c_batch + m * s.c_row + n;
    W sum = 0;
    for (long k = 0; k < s.k; ++k) sum += element_of_a(&s, a, p, m, k) * element_of_b(&s, b, p, k, n);
#ifdef HAS_BIAS
    sum += LOAD(R, bias, p * s.c_batch % s.c_row + n);
#endif
#ifdef HAS_RESIDUAL
    sum += LOAD(R, residual, at);
#endif
    STORE(R, c, at, activated(sum, alpha_of(&s)));
  }
}

// The sums of the chunks of k, in order.
__kernel void sum_parts(Product s, MEM(parts), MEM(bias), MEM(residual), MEM(c)) {
  const __global W *parts = POINTER(const W, parts);
  const __global STORED(R) *bias = POINTER(const STORED(R), bias), *residual = POINTER(const STORED(R), residual);
  __global STORED(R) *c = POINTER(STORED(R), c);
  const long total = s.batch * s.m * s.n;
  EACH(i, (ulong)total) {
    const long n = i % s.n, m = i / s.n % s.m, p = i / (s.n * s.m);
    const long at = p * s.c_batch + m * s.c_row + n;
    W sum = 0;
    for (int part = 0; part < s.chunks; ++part) sum += parts[part * total + i];
#ifdef HAS_BIAS
    sum += LOAD(R, bias, p * s.c_batch % s.c_row + n);
#endif
#ifdef HAS_RESIDUAL
    sum += LOAD(R, residual, at);
#endif
    STORE(R, c, at, activated(sum, alpha_of(&s)));
  }
}
