// The sums of the chunks of k, [chunk][p][m][n], in order.
__kernel void sum_parts(Product s, MEM(parts), MEM(bias), MEM(residual), MEM(c)) {
  const __global W *parts = POINTER(const W, parts);
  const End e = {POINTER(const STORED(R), bias), POINTER(const STORED(R), residual), POINTER(STORED(R), c)};
  const long total = s.batch * s.m * s.n;
  EACH(row, (ulong)(s.batch * s.m)) {
    for (long n = 0; n < s.n; ++n) {
      W sum = 0;
      for (int part = 0; part < s.chunks; ++part) sum += parts[part * total + row * s.n + n];
      end(&s, e, row / s.m, row % s.m, n, sum);
    }
  }
}
