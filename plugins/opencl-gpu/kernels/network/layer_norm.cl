// layer_norm and its gradient on rows of n elements; after rows.cl and columns.cl. Row r's gamma begins at r % turns * n.
// D: dtype of x, P: of gamma, beta, mean and var. CENTER 0: the mean is 0.
typedef WIDE(ACC) W;

#define DATA(name) const __global STORED(D)* name = POINTER(const STORED(D), name)
#define PARAMETER(name, i) LOAD(P, POINTER(const STORED(P), name), i)

__kernel void layer_norm(MEM(y), MEM(mean), MEM(var), MEM(x), MEM(gamma), MEM(beta), ulong rows, ulong n, ulong turns,
                         W eps) {
  ROWS_BEGIN
  EACH_ROW(r, rows) {
    DATA(x) + r * n;
    __global STORED(D)* y = POINTER(STORED(D), y) + r * n;
    const __global STORED(P)* gamma = POINTER(const STORED(P), gamma) + r % turns * n;
#ifdef BETA
    const __global STORED(P)* beta = POINTER(const STORED(P), beta) + r % turns * n;
#define OFFSET(i) LOAD(P, beta, i)
#else
#define OFFSET(i) 0
#endif
    W mean = 0, square;
#if CENTER
    FOLD(mean, n, 0, ROW_ADD, i, LOAD(D, x, i))
    mean /= (W)n;
#endif
    FOLD(square, n, 0, ROW_ADD, i, (LOAD(D, x, i) - mean) * (LOAD(D, x, i) - mean))
    const W var = square / (W)n, inverse = 1 / sqrt(var + eps);
    ROW_LOOP(i, n) STORE(D, y, i, (LOAD(D, x, i) - mean) * inverse * LOAD(P, gamma, i) + OFFSET(i));
    if (ROW_ONCE) {
      STORE(P, POINTER(STORED(P), mean), r, mean);
      STORE(P, POINTER(STORED(P), var), r, var);
    }
  }
}

__kernel void layer_norm_grad(MEM(dx), MEM(dy), MEM(x), MEM(gamma), MEM(mean), MEM(var), ulong rows, ulong n,
                              ulong turns, W eps) {
  ROWS_BEGIN
  EACH_ROW(r, rows) {
    DATA(x) + r * n;
    DATA(dy) + r * n;
    __global STORED(D)* dx = POINTER(STORED(D), dx) + r * n;
    const __global STORED(P)* gamma = POINTER(const STORED(P), gamma) + r % turns * n;
    const W mean = CENTER ? PARAMETER(mean, r) : 0, inverse = 1 / sqrt(PARAMETER(var, r) + eps);
    W sum = 0, dot;
#if CENTER
    FOLD(sum, n, 0, ROW_ADD, i, LOAD(D, dy, i) * LOAD(P, gamma, i))
#endif
    FOLD(dot, n, 0, ROW_ADD, i, LOAD(D, dy, i) * LOAD(P, gamma, i) * ((LOAD(D, x, i) - mean) * inverse))
    sum /= (W)n;
    dot /= (W)n;
    ROW_LOOP(i, n)
    STORE(D, dx, i, inverse * (LOAD(D, dy, i) * LOAD(P, gamma, i) - sum - (LOAD(D, x, i) - mean) * inverse * dot));
  }
}

// Sums the columns of [rows / turns, turns n]: sums and dots[pieces, c].
__kernel void parameter_sums(MEM(sums), MEM(dots), MEM(dy), MEM(x), MEM(mean), MEM(var), Columns s, ulong n, W eps) {
  DATA(x);
  DATA(dy);
  const ulong turns = s.c / n;
  EACH_BLOCK(s) {
    BLOCK(s)
    ZERO_LANES(sum)
    ZERO_LANES(dot)
    for (ulong row = begin; row < begin + many; ++row)
      for (ulong k = 0; k < columns;) {  // as far as one mean serves
        const ulong c = first + k, r = row * turns + c / n, end = min(columns, k + n - c % n);
        const W mean = CENTER ? PARAMETER(mean, r) : 0, inverse = 1 / sqrt(PARAMETER(var, r) + eps);
        const ulong at = row * s.c + first;
        INDEPENDENT
        for (ulong j = k; j < end; ++j) {
          const W g = LOAD(D, dy, at + j);
          sum[j] += g;
          dot[j] += g * ((LOAD(D, x, at + j) - mean) * inverse);
        }
        k = end;
      }
    for (ulong k = 0; k < columns; ++k) {
      POINTER(W, sums)[p * s.c + first + k] = sum[k];
      POINTER(W, dots)[p * s.c + first + k] = dot[k];
    }
  }
}
