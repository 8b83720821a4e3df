// Optimizer updates that take several passes over a variable of n elements, behind update_shared.cl and rows.cl: nadam,
// whose last slot is one number, lamb and adafactor, which need sums over all of it. p: the variable, g: its gradient, both
// [n]. What is between passes is of T.
#define GRADIENT(i) SCALED(once.scale, LOAD(G, POINTER(const STORED(G), g), i))
#define READ(name, i) LOAD(D, POINTER(const STORED(D), name), i)
#define WRITE(name, i, x) STORE(D, POINTER(STORED(D), name), i, x)
#define PASSED(name) POINTER(T, name)

// b1 (1 - 0.96^t / 2)
static inline T nadam_factor(T b1, T t) { return b1 * (1 - (T)0.5 * pow((T)0.96, t)); }

__kernel void nadam(MEM(to_p), MEM(to_m), MEM(to_v), MEM(p), MEM(g), MEM(m), MEM(v), MEM(q), ulong n, UPDATE_SHARES) {
  BEGIN
  const T now = nadam_factor(h.b1, once.t), next = nadam_factor(h.b1, once.t + 1), product = READ(q, 0) * now;
  const T by_m = once.lr * next / (1 - product * next), by_g = once.lr * (1 - now) / (1 - product);
  const T unbias = 1 / one_minus_power(h.log_b2, once.t);
  INDEPENDENT
  EACH(i, n) {
    const T p_was = READ(p, i), m_was = READ(m, i), v_was = READ(v, i), G_now = GRADIENT(i);
    const T m_now = TOWARD(m_was, G_now, h.c1), v_now = TOWARD(v_was, G_now * G_now, h.c2);
    const T p_now = p_was - (by_m * m_now + by_g * G_now) / (sqrt(v_now * unbias) + h.eps);
    WRITE(to_p, i, once.open ? p_now : p_was);
    WRITE(to_m, i, once.open ? m_now : m_was);
    WRITE(to_v, i, once.open ? v_now : v_was);
  }
}

// Behind nadam, which reads q.
__kernel void nadam_product(MEM(to_q), MEM(q), UPDATE_SHARES) {
  BEGIN
  const T q_was = READ(q, 0);
  WRITE(to_q, 0, once.open ? q_was * nadam_factor(h.b1, once.t) : q_was);
}

// r[n]: the direction.
__kernel void lamb_direction(MEM(r), MEM(to_m), MEM(to_v), MEM(g), MEM(m), MEM(v), ulong n, UPDATE_SHARES) {
  BEGIN
  const T unbias_m = 1 / one_minus_power(h.log_b1, once.t), unbias_v = 1 / one_minus_power(h.log_b2, once.t);
  INDEPENDENT
  EACH(i, n) {
    const T m_was = READ(m, i), v_was = READ(v, i), G_now = GRADIENT(i);
    const T m_now = TOWARD(m_was, G_now, h.c1), v_now = TOWARD(v_was, G_now * G_now, h.c2);
    PASSED(r)[i] = m_now * unbias_m / (sqrt(v_now * unbias_v) + h.eps);
    WRITE(to_m, i, once.open ? m_now : m_was);
    WRITE(to_v, i, once.open ? v_now : v_was);
  }
}

// squares[2]: sums of those of p and of the direction.
__kernel void lamb_move(MEM(to_p), MEM(p), MEM(r), MEM(squares), ulong n, UPDATE_SHARES) {
  BEGIN
  const T of_p = sqrt(PASSED(squares)[0]), of_r = sqrt(PASSED(squares)[1]);
  const T rate = once.lr * (of_p == 0 || of_r == 0 ? (T)1 : of_p / of_r);
  INDEPENDENT
  EACH(i, n) {
    const T p_was = READ(p, i);
    WRITE(to_p, i, once.open ? p_was - rate * PASSED(r)[i] : p_was);
  }
}

// 1 - beta of the t-th update
static inline T adafactor_rate(T t) { return pow(t, (T)-0.8); }

// A variable of rank 0 or 1: r' = v'[n], and u[n], the direction.
__kernel void adafactor_vector(MEM(u), MEM(to_r), MEM(g), MEM(r), T eps1, ulong n, UPDATE_SHARES) {
  BEGIN
  const T keep = adafactor_rate(once.t);
  INDEPENDENT
  EACH(i, n) {
    const T r_was = READ(r, i), G_now = GRADIENT(i);
    const T r_now = TOWARD(r_was, G_now * G_now + eps1, keep);
    PASSED(u)[i] = G_now / sqrt(r_now);
    WRITE(to_r, i, once.open ? r_now : r_was);
  }
}

// squares[n]
__kernel void adafactor_squares(MEM(squares), MEM(g), T eps1, ulong n, UPDATE_SHARES) {
  BEGIN
  INDEPENDENT
  EACH(i, n) {
    const T G_now = GRADIENT(i);
    PASSED(squares)[i] = G_now * G_now + eps1;
  }
}

// A slot[n] goes toward sums[n] / count; what it is then stays in sums, too, before it is rounded.
__kernel void adafactor_mean(MEM(to_slot), MEM(slot), MEM(sums), T count, ulong n, UPDATE_SHARES) {
  BEGIN
  const T keep = adafactor_rate(once.t);
  INDEPENDENT
  EACH(i, n) {
    const T was = READ(slot, i), mean = PASSED(sums)[i] / count, now = TOWARD(was, mean, keep);
    PASSED(sums)[i] = now;
    WRITE(to_slot, i, once.open ? now : was);
  }
}

// u[rows, n] of p[rows, n], of which `height` are a matrix: r[rows], c[matrices, n], r_sums[matrices].
__kernel void adafactor_direction(MEM(u), MEM(g), MEM(r), MEM(c), MEM(r_sums), ulong rows, ulong n, ulong height,
                                  UPDATE_SHARES) {
  BEGIN
  EACH_ROW(row, rows) {
    const ulong matrix = row / height;
    const T of_row = PASSED(r)[row] * (T)height / PASSED(r_sums)[matrix];
    ROW_LOOP(i, n) {
      const ulong at = row * n + i;
      PASSED(u)[at] = GRADIENT(at) / sqrt(of_row * PASSED(c)[matrix * n + i]);
    }
  }
}

// squares[2]: sums of those of p and of u.
__kernel void adafactor_move(MEM(to_p), MEM(p), MEM(u), MEM(squares), T eps2, ulong n, UPDATE_SHARES) {
  BEGIN
  const T of_p = sqrt(PASSED(squares)[0] / (T)n), of_u = sqrt(PASSED(squares)[1] / (T)n), one = 1;
  const T most = 1 / sqrt(once.t), rate = LARGER(eps2, of_p) * (once.lr < most ? once.lr : most) / LARGER(one, of_u);
  INDEPENDENT
  EACH(i, n) {
    const T p_was = READ(p, i);
    WRITE(to_p, i, once.open ? p_was - rate * PASSED(u)[i] : p_was);
  }
}
