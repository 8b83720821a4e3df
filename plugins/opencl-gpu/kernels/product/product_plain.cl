// One element of c at a time: for few elements, and for shapes that the tiled kernels leave.
__kernel void product_plain(Product s, MEM(a), MEM(b), MEM(bias), MEM(residual), MEM(c) JOINT_MEMORY) {
  EACH(i, (ulong)(s.batch * s.m * s.n)) {
    const long n = i % s.n, m = i / s.n % s.m, p = i / (s.n * s.m);
    const End e = {MEMBER(const STORED(R), bias, p), POINTER(const STORED(R), residual), MEMBER(STORED(R), c, p)};
    W sum = 0;
    for (long k = 0; k < s.k; ++k)
      sum += element_of_a(&s, POINTER(const STORED(T), a), p, m, k) *
             element_of_b(&s, MEMBER(const STORED(T), b, p), p, k, n);
    end(&s, e, p, m, n, sum);
  }
}
