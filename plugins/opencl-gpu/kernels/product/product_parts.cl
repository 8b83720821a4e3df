// The sums of the chunks of k, [chunk][p][m][n], in order.
__kernel void sum_parts(Product s, MEM(parts), MEM(bias), MEM(residual), MEM(c) JOINT_MEMORY) {
  const __global W *parts = POINTER(const W, parts);
  const long total = s.batch * s.m * s.n;
  EACH(row, (ulong)(s.batch * s.m)) {
    const long p = row / s.m;
    const End e = {MEMBER(const STORED(R), bias, p), POINTER(const STORED(R), residual), MEMBER(STORED(R), c, p)};
    for (long n = 0; n < s.n; ++n) {
      W sum = 0;
      for (int part = 0; part < s.chunks; ++part) sum += parts[part * total + row * s.n + n];
      end(&s, e, p, row % s.m, n, sum);
    }
  }
}
