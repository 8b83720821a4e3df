// softmax, log_softmax and their gradients, softmax_cross_entropy and its gradient; after rows.cl. D: dtype, ACC: that is
// computed with. STRIDE: of neighbours in a row, 1 or `stride`.
typedef WIDE(ACC) W;

#define START(r) ((r) / STRIDE * STRIDE * n + (r) % STRIDE)
#define ROW_OF(name, r) (POINTER(const STORED(D), name) + START(r))
#define ELEMENT(p, i) LOAD(D, p, (i) * STRIDE)

__kernel void softmax(MEM(y), MEM(x), ulong rows, ulong n, ulong stride) {
  ROWS_BEGIN
  EACH_ROW(r, rows) {
    const __global STORED(D)* x = ROW_OF(x, r);
    __global STORED(D)* y = POINTER(STORED(D), y) + START(r);
    W top, sum;
    FOLD(top, n, -INFINITY, ROW_MAX, i, ELEMENT(x, i))
    FOLD(sum, n, 0, ROW_ADD, i, exp(ELEMENT(x, i) - top))
#ifdef LOGARITHM
    const W lse = log(sum);
    ROW_LOOP(i, n) STORE(D, y, i * STRIDE, ELEMENT(x, i) - top - lse);
#else
    const W scale = 1 / sum;
    ROW_LOOP(i, n) STORE(D, y, i * STRIDE, exp(ELEMENT(x, i) - top) * scale);
#endif
  }
}

__kernel void softmax_grad(MEM(dx), MEM(dy), MEM(y), ulong rows, ulong n, ulong stride) {
  ROWS_BEGIN
  EACH_ROW(r, rows) {
    const __global STORED(D) *dy = ROW_OF(dy, r), *y = ROW_OF(y, r);
    __global STORED(D)* dx = POINTER(STORED(D), dx) + START(r);
    W sum;
#ifdef LOGARITHM
    FOLD(sum, n, 0, ROW_ADD, i, ELEMENT(dy, i))
    ROW_LOOP(i, n) STORE(D, dx, i * STRIDE, ELEMENT(dy, i) - exp(ELEMENT(y, i)) * sum);
#else
    FOLD(sum, n, 0, ROW_ADD, i, ELEMENT(dy, i) * ELEMENT(y, i))
    ROW_LOOP(i, n) STORE(D, dx, i * STRIDE, ELEMENT(y, i) * (ELEMENT(dy, i) - sum));
#endif
  }
}

#ifdef LABEL
// LABEL: dtype of the labels; DENSE: they are t itself. loss and lse are of dtype ACC.
#define ROW_LABEL(r) ((long)LOAD(LABEL, POINTER(const STORED(LABEL), label), r))

__kernel void cross_entropy(MEM(loss), MEM(lse), MEM(x), MEM(label), ulong rows, ulong n, ulong stride, W on, W off,
                            long ignore) {
  ROWS_BEGIN
  EACH_ROW(r, rows) {
    const __global STORED(D)* x = ROW_OF(x, r);
    W top, sum, loss;
    FOLD(top, n, -INFINITY, ROW_MAX, i, ELEMENT(x, i))
    FOLD(sum, n, 0, ROW_ADD, i, exp(ELEMENT(x, i) - top))
    const W lse = top + log(sum);
#ifdef DENSE
    const __global STORED(D)* t = ROW_OF(label, r);
    W total, product;
    FOLD(total, n, 0, ROW_ADD, i, ELEMENT(t, i))
    FOLD(product, n, 0, ROW_ADD, i, ELEMENT(t, i) * ELEMENT(x, i))
    loss = total * lse - product;
#else
    const long label = ROW_LABEL(r);
    const int inside = label >= 0 && (ulong)label < n;
    loss = inside ? (on - off) * (lse - ELEMENT(x, inside ? label : 0)) : (W)NAN;
    if (off != 0) {  // terms of the size of the loss
      W rest;
      FOLD(rest, n, 0, ROW_ADD, i, lse - ELEMENT(x, i))
      loss += off * rest;
    }
    if (label == ignore) loss = 0;
#endif
    if (ROW_ONCE) {
      POINTER(W, loss)[r] = loss;
      POINTER(W, lse)[r] = lse;
    }
  }
}

__kernel void cross_entropy_grad(MEM(dx), MEM(dloss), MEM(x), MEM(label), MEM(lse), ulong rows, ulong n, ulong stride,
                                 W on, W off, long ignore) {
  ROWS_BEGIN
  EACH_ROW(r, rows) {
    const __global STORED(D)* x = ROW_OF(x, r);
    __global STORED(D)* dx = POINTER(STORED(D), dx) + START(r);
    const W g = POINTER(const W, dloss)[r], lse = POINTER(const W, lse)[r];
#ifdef DENSE
    const __global STORED(D)* t = ROW_OF(label, r);
    W total;
    FOLD(total, n, 0, ROW_ADD, i, ELEMENT(t, i))
    ROW_LOOP(i, n) STORE(D, dx, i, g * (total * exp(ELEMENT(x, i) - lse) - ELEMENT(t, i)));
#else
    const long label = ROW_LABEL(r);
    const W total = on + (W)(n - 1) * off;
    if (label == ignore || label < 0 || (ulong)label >= n) {
      const W all = label == ignore ? 0 : (W)NAN;
      ROW_LOOP(i, n) STORE(D, dx, i, all);
    } else {
      ROW_LOOP(i, n) STORE(D, dx, i, g * (total * exp(ELEMENT(x, i) - lse) - (i == (ulong)label ? on : off)));
    }
#endif
  }
}
#endif
