// batch_norm, batch_norm_apply and the gradient on x[rows, c]; after activation.cl, activation_grad.cl and columns.cl.
// D: dtype of x, P: of gamma, beta, mean and var.
ACTIVATION(act_of, W)

#define DATA(name) const __global STORED(D)* name = POINTER(const STORED(D), name);
#define PARAMETER(name, i) LOAD(P, POINTER(const STORED(P), name), i)

// moments[pieces, 2, c]: mean, sum of squared distances from it.
__kernel void moments(MEM(moments), MEM(x), Columns s) {
  DATA(x)
  EACH_BLOCK(s) {
    BLOCK(s)
    ZERO_LANES(mean)
    BLOCK_LOOP(s, i, k, mean[k] += LOAD(D, x, i);)
    FOLD_LANES(mean)
    for (ulong k = 0; k < columns; ++k) mean[k] /= (W)many;
    for (ulong k = columns; k < lanes; ++k) mean[k] = mean[k - columns];
    ZERO_LANES(square)
    ZERO_LANES(rest)  // what rounding left out of the mean
    BLOCK_LOOP(s, i, k, const W d = LOAD(D, x, i) - mean[k]; square[k] += d * d; rest[k] += d;)
    FOLD_LANES(square)
    FOLD_LANES(rest)
    __global W* to = POINTER(W, moments) + p * 2 * s.c + first;
    for (ulong k = 0; k < columns; ++k) {
      to[k] = mean[k] + rest[k] / (W)many;
      to[s.c + k] = square[k] - rest[k] * (rest[k] / (W)many);
    }
  }
}

// Merges the moments of all pieces; factors[2, c]: mean, gamma / s.
__kernel void merge_moments(MEM(mean), MEM(var), MEM(factors), MEM(moments), MEM(gamma), Columns s, W eps) {
  const __global W* moments = POINTER(const W, moments);
  __global W* factors = POINTER(W, factors);
  EACH(i, s.c) {
    W mean = 0, square = 0, rows = 0;
    for (ulong p = 0; p < s.pieces; ++p) {
      const W n = (W)min(s.length, s.rows - p * s.length), apart = moments[p * 2 * s.c + i] - mean;
      rows += n;
      mean += apart * (n / rows);
      square += moments[(p * 2 + 1) * s.c + i] + apart * apart * (n * ((rows - n) / rows));
    }
    const W var = square / (W)s.rows;
    STORE(P, POINTER(STORED(P), mean), i, mean);
    STORE(P, POINTER(STORED(P), var), i, var);
    factors[i] = mean;
    factors[s.c + i] = PARAMETER(gamma, i) / sqrt(var + eps);
  }
}

// The factors of a mean and a variance that are given.
__kernel void given_moments(MEM(factors), MEM(mean), MEM(var), MEM(gamma), ulong c, W eps) {
  __global W* factors = POINTER(W, factors);
  EACH(i, c) {
    factors[i] = PARAMETER(mean, i);
    factors[c + i] = PARAMETER(gamma, i) / sqrt(PARAMETER(var, i) + eps);
  }
}

__kernel void apply(MEM(y), MEM(x), MEM(factors), MEM(beta), MEM(residual), Columns s, W alpha) {
  DATA(x)
  DATA(residual)
  __global STORED(D)* y = POINTER(STORED(D), y);
  const __global W* factors = POINTER(const W, factors);
#ifdef RESIDUAL
#define REST(i) LOAD(D, residual, i)
#else
#define REST(i) 0
#endif
  EACH_BLOCK(s) {
    BLOCK(s)
    LANES_OF(mean, c, factors[c])
    LANES_OF(scale, c, factors[s.c + c])
    LANES_OF(beta, c, PARAMETER(beta, c))
    BLOCK_LOOP(s, i, k, STORE(D, y, i, act_of((LOAD(D, x, i) - mean[k]) * scale[k] + beta[k] + REST(i), alpha));)
  }
}

#if ACT == 0
#define DZ(i) LOAD(D, dy, i)
#else
#define DZ(i) act_grad(LOAD(D, dy, i), LOAD(D, y, i), alpha)
#endif

// sums[pieces, 2, c]: of dz, of dz (x - mean).
__kernel void grad_sums(MEM(sums), MEM(dy), MEM(x), MEM(y), MEM(mean), Columns s, W alpha) {
  DATA(dy)
  DATA(x)
  DATA(y)
  EACH_BLOCK(s) {
    BLOCK(s)
    LANES_OF(mean, c, PARAMETER(mean, c))
    ZERO_LANES(sum)
    ZERO_LANES(dot)
    BLOCK_LOOP(s, i, k, const W z = DZ(i); sum[k] += z; dot[k] += z * (LOAD(D, x, i) - mean[k]);)
    FOLD_LANES(sum)
    FOLD_LANES(dot)
    __global W* to = POINTER(W, sums) + p * 2 * s.c + first;
    for (ulong k = 0; k < columns; ++k) {
      to[k] = sum[k];
      to[s.c + k] = dot[k];
    }
  }
}

// factors[4, c]: mean, scale, slope, shift of dx = scale dz - (x - mean) slope - shift.
__kernel void merge_grad(MEM(dgamma), MEM(dbeta), MEM(factors), MEM(sums), MEM(gamma), MEM(mean), MEM(var), Columns s,
                         W eps) {
  const __global W* sums = POINTER(const W, sums);
  __global W* factors = POINTER(W, factors);
  EACH(i, s.c) {
    W sum = 0, dot = 0;
    for (ulong p = 0; p < s.pieces; ++p) {
      sum += sums[p * 2 * s.c + i];
      dot += sums[(p * 2 + 1) * s.c + i];
    }
    const W inverse = 1 / sqrt(PARAMETER(var, i) + eps), scale = PARAMETER(gamma, i) * inverse;
    STORE(P, POINTER(STORED(P), dgamma), i, dot * inverse);
    STORE(P, POINTER(STORED(P), dbeta), i, sum);
    factors[i] = PARAMETER(mean, i);
    factors[s.c + i] = scale;
    factors[2 * s.c + i] = scale * dot * inverse * inverse / (W)s.rows;
    factors[3 * s.c + i] = scale * sum / (W)s.rows;
  }
}

__kernel void grad(MEM(dx), MEM(dresidual), MEM(dy), MEM(x), MEM(y), MEM(factors), Columns s, W alpha) {
  DATA(dy)
  DATA(x)
  DATA(y)
  __global STORED(D) *dx = POINTER(STORED(D), dx), *dresidual = POINTER(STORED(D), dresidual);
  const __global W* factors = POINTER(const W, factors);
#ifdef RESIDUAL
#define KEEP_DZ(i, z) STORE(D, dresidual, i, z)
#else
#define KEEP_DZ(i, z)
#endif
  EACH_BLOCK(s) {
    BLOCK(s)
    LANES_OF(mean, c, factors[c])
    LANES_OF(scale, c, factors[s.c + c])
    LANES_OF(slope, c, factors[2 * s.c + c])
    LANES_OF(shift, c, factors[3 * s.c + c])
    BLOCK_LOOP(s, i, k, const W z = DZ(i); const W d = LOAD(D, x, i) - mean[k]; KEEP_DZ(i, z);
               STORE(D, dx, i, scale[k] * z - d * slope[k] - shift[k]);)
  }
}
