// activation, its gradient, and that with the columns' sums; after activation.cl, activation_grad.cl and columns.cl.
ACTIVATION(act_of, W)

__kernel void activate(MEM(y), MEM(x), ulong n, W alpha) {
  __global STORED(D)* y = POINTER(STORED(D), y);
  const __global STORED(D)* x = POINTER(const STORED(D), x);
  INDEPENDENT
  EACH(i, n) STORE(D, y, i, act_of(LOAD(D, x, i), alpha));
}

__kernel void activate_grad(MEM(dz), MEM(g), MEM(t), ulong n, W alpha) {
  __global STORED(D)* dz = POINTER(STORED(D), dz);
  const __global STORED(D) *g = POINTER(const STORED(D), g), *t = POINTER(const STORED(D), t);
  INDEPENDENT
  EACH(i, n) STORE(D, dz, i, act_grad(LOAD(D, g, i), LOAD(D, t, i), alpha));
}

// sums[pieces, c]
__kernel void bias_act_grad(MEM(dz), MEM(sums), MEM(g), MEM(t), Columns s, W alpha) {
  __global STORED(D)* dz = POINTER(STORED(D), dz);
  const __global STORED(D) *g = POINTER(const STORED(D), g), *t = POINTER(const STORED(D), t);
  EACH_BLOCK(s) {
    BLOCK(s)
    ZERO_LANES(sum)
    BLOCK_LOOP(s, i, k, const W z = act_grad(LOAD(D, g, i), LOAD(D, t, i), alpha); sum[k] += z; STORE(D, dz, i, z);)
    FOLD_LANES(sum)
    for (ulong k = 0; k < columns; ++k) POINTER(W, sums)[p * s.c + first + k] = sum[k];
  }
}
