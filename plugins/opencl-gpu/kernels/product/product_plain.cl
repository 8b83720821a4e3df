// One element of c at a time: for few elements, and for shapes that the tiled kernels leave.
__kernel void product_plain(Product s, MEM(a), MEM(b), MEM(bias), MEM(residual), MEM(c)) {
  const End e = {POINTER(const STORED(R), bias), POINTER(const STORED(R), residual), POINTER(STORED(R), c)};
  EACH(i, (ulong)(s.batch * s.m * s.n)) {
    const long n = i % s.n, m = i / s.n % s.m, p = i / (s.n * s.m);
    W sum = 0;
    for (long k = 0; k < s.k; ++k)
      sum += element_of_a(&s, POINTER(const STORED(T), a), p, m, k) *
             element_of_b(&s, POINTER(const STORED(T), b), p, k, n);
    end(&s, e, p, m, n, sum);
  }
}
