// Optimizer updates that look at one element at a time, behind update_shared.cl. SLOT_0.. say which slots there are.
// RULE_name is the rule. BY_ROWS: the gradient comes as rows of p.
// ONCE: before the elements, from lr, t = step from 1 and h. EACH_ONE: P, the slots S0 S1 S2 of one element by its gradient g.
#if defined(RULE_sgd)
#define ONCE
#define EACH_ONE P -= lr * g
#elif defined(RULE_momentum)
#define ONCE
#define EACH_ONE               \
  const T d = lr * g;          \
  S0 = h.mu * S0 - d;          \
  P += nesterov ? h.mu * S0 - d : S0
#elif defined(RULE_adam) || defined(RULE_adamw)
#define ONCE                                                                                       \
  const T rate = lr * sqrt(one_minus_power(h.log_b2, t)) / one_minus_power(h.log_b1, t), decay = 1 - lr * h.wd;
#ifdef SLOT_2
#define SECOND (S2 = LARGER(S2, S1))
#else
#define SECOND S1
#endif
#define EACH_ONE                 \
  S0 = TOWARD(S0, g, h.c1);      \
  S1 = TOWARD(S1, g * g, h.c2);  \
  const T second = SECOND;       \
  P = decay * P - rate * S0 / (sqrt(second) + h.eps)
#elif defined(RULE_adamax)
#define ONCE const T rate = lr / one_minus_power(h.log_b1, t);
#define EACH_ONE                             \
  S0 = TOWARD(S0, g, h.c1);                  \
  const T shrunk = h.b2 * S1, size = fabs(g); \
  S1 = LARGER(shrunk, size);                 \
  P -= rate * S0 / (S1 + h.eps)
#elif defined(RULE_adagrad)
#define ONCE
#define EACH_ONE \
  S0 += g * g;   \
  P -= lr * g / sqrt(S0 + h.eps)
#elif defined(RULE_rmsprop)
#define ONCE
#ifdef SLOT_2
#define VARIANCE (S0 - S2 * S2)
#define CENTER S2 = TOWARD(S2, g, h.c1)
#else
#define VARIANCE S0
#define CENTER
#endif
#ifdef SLOT_1
#define MOVE S1 = d = h.mu * S1 + d
#else
#define MOVE
#endif
#define EACH_ONE                           \
  S0 = TOWARD(S0, g * g, h.c1);            \
  CENTER;                                  \
  T d = lr * g / sqrt(VARIANCE + h.eps);   \
  MOVE;                                    \
  P -= d
#elif defined(RULE_adadelta)
#define ONCE
#define EACH_ONE                                            \
  S0 = TOWARD(S0, g * g, h.c1);                             \
  const T d = g * sqrt(S1 + h.eps) / sqrt(S0 + h.eps);      \
  S1 = TOWARD(S1, d * d, h.c1);                             \
  P -= lr * d
#elif defined(RULE_ftrl)
#define ONCE const T per_lr = 1 / lr, base = 2 * h.l2_reg + h.beta / lr;
#define POWER(x) (h.power == (T)0.5 ? sqrt(x) : pow(x, h.power))
#define EACH_ONE                                                          \
  const T after = S0 + g * g;                                             \
  const T high = POWER(after) * per_lr, sigma = high - POWER(S0) * per_lr; \
  S1 += g + 2 * h.shrink * P - sigma * P;                                 \
  S0 = after;                                                             \
  const T clipped = S1 > h.l1 ? h.l1 : S1 < -h.l1 ? -h.l1 : S1;           \
  P = (clipped - S1) / (high + base)
#elif defined(RULE_lion)
#define ONCE
#define EACH_ONE                                            \
  const T c = TOWARD(S0, g, h.c1);                          \
  S0 = TOWARD(S0, g, h.c2);                                 \
  P -= lr * (c > 0 ? (T)1 : c < 0 ? (T)-1 : c)
#endif

// The pointers of a slot that there is: parameters of a function, of a kernel for member m, and arguments from those.
#define SLOT_OF(k) , __global STORED(D) * to_s##k, const __global STORED(D) * s##k
#define SLOT_MEMORY(k, m) , MEM(to_s##k##_##m), MEM(s##k##_##m)
#define SLOT_POINTERS(k, m) , POINTER(STORED(D), to_s##k##_##m), POINTER(const STORED(D), s##k##_##m)
#ifdef SLOT_0
#define SLOT_0_OF SLOT_OF(0)
#define SLOT_0_MEMORY(m) SLOT_MEMORY(0, m)
#define SLOT_0_POINTERS(m) SLOT_POINTERS(0, m)
#else
#define SLOT_0_OF
#define SLOT_0_MEMORY(m)
#define SLOT_0_POINTERS(m)
#endif
#ifdef SLOT_1
#define SLOT_1_OF SLOT_OF(1)
#define SLOT_1_MEMORY(m) SLOT_MEMORY(1, m)
#define SLOT_1_POINTERS(m) SLOT_POINTERS(1, m)
#else
#define SLOT_1_OF
#define SLOT_1_MEMORY(m)
#define SLOT_1_POINTERS(m)
#endif
#ifdef SLOT_2
#define SLOT_2_OF SLOT_OF(2)
#define SLOT_2_MEMORY(m) SLOT_MEMORY(2, m)
#define SLOT_2_POINTERS(m) SLOT_POINTERS(2, m)
#else
#define SLOT_2_OF
#define SLOT_2_MEMORY(m)
#define SLOT_2_POINTERS(m)
#endif

#ifdef BY_ROWS
#ifdef SHAPE_CPU
#define PART 1024
#else
#define PART 1
#endif
#define ROWS_OF , const __global int *head, ulong columns
#define ROWS_MEMORY(m) , MEM(chains_##m), ulong columns_##m
#define ROWS_POINTERS(m) , POINTER(const int, chains_##m), columns_##m
// The gradient of elements [from, end): 0, and what was given for their rows, added up in its order. Whether there is any.
// head[row] is the first given row that adds to a row, next[it] the one after it; -1: none (kernels/movement/indexing.cl).
static inline int add_rows(T* sums, const __global STORED(D) * given, const __global int* head,
                           const __global int* next, ulong columns, ulong from, ulong end) {
  int any = 0;
  for (ulong i = from; i < end; ++i) sums[i - from] = 0;
  for (ulong row = from / columns; row * columns < end; ++row) {
    const ulong begin = max(from, row * columns), stop = min(end, (row + 1) * columns);
    for (int j = head[row]; j >= 0; j = next[j]) {
      const __global STORED(D)* x = given + (ulong)j * columns;
      any = 1;
      INDEPENDENT
      for (ulong i = begin; i < stop; ++i) sums[i - from] += LOAD(D, x, i - row * columns);
    }
  }
  return any;
}
// sgd leaves rows alone for which nothing was given.
#ifdef RULE_sgd
#define KEEPS_OTHERS (lr >= 0 && isfinite(lr) && isfinite(scale) && to_p == p)
#else
#define KEEPS_OTHERS 0
#endif
#define GRADIENT(i) sums[i - from]
#define ELEMENTS(i) for (ulong i = from; i < end; ++i)
#else
#define ROWS_OF
#define ROWS_MEMORY(m)
#define ROWS_POINTERS(m)
#define GRADIENT(i) LOAD(D, gradient, i)
#define ELEMENTS(i) EACH(i, n)
#endif

static inline __attribute__((always_inline)) void update_one(__global STORED(D) * to_p, const __global STORED(D) * p,
                                                             const __global STORED(D) * gradient ROWS_OF SLOT_0_OF
                                                                 SLOT_1_OF SLOT_2_OF,
                                                             ulong n, Once once, Hyper h) {
  const T lr = once.lr, t = once.t, scale = once.scale;
  const int open = once.open, nesterov = once.nesterov;
  ONCE
#ifdef BY_ROWS
  EACH(part, (n + PART - 1) / PART) {
  const ulong from = part * PART, end = min(n, from + PART);
  T sums[PART];
  if (!add_rows(sums, gradient, head, head + n / columns, columns, from, end) && KEEPS_OTHERS) continue;
#endif
  INDEPENDENT
  ELEMENTS(i) {
    const T p_was = LOAD(D, p, i);
    T P = p_was;
    const T g = SCALED(scale, GRADIENT(i));
#ifdef SLOT_0
    const T s0_was = LOAD(D, s0, i);
    T S0 = s0_was;
#endif
#ifdef SLOT_1
    const T s1_was = LOAD(D, s1, i);
    T S1 = s1_was;
#endif
#ifdef SLOT_2
    const T s2_was = LOAD(D, s2, i);
    T S2 = s2_was;
#endif
    EACH_ONE;
    STORE(D, to_p, i, open ? P : p_was);
#ifdef SLOT_0
    STORE(D, to_s0, i, open ? S0 : s0_was);
#endif
#ifdef SLOT_1
    STORE(D, to_s1, i, open ? S1 : s1_was);
#endif
#ifdef SLOT_2
    STORE(D, to_s2, i, open ? S2 : s2_was);
#endif
  }
#ifdef BY_ROWS
  }
#endif
}

// The kernel is written for its members (updates.cc): update(MEMBER(0), .., UPDATE_SHARES) { BEGIN UPDATE(0) .. }
#define MEMBER(m) \
  MEM(to_p_##m), MEM(p_##m), MEM(g_##m) ROWS_MEMORY(m) SLOT_0_MEMORY(m) SLOT_1_MEMORY(m) SLOT_2_MEMORY(m), ulong n_##m
#define UPDATE(m)                                                                                                   \
  update_one(POINTER(STORED(D), to_p_##m), POINTER(const STORED(D), p_##m),                                         \
             POINTER(const STORED(D), g_##m) ROWS_POINTERS(m) SLOT_0_POINTERS(m) SLOT_1_POINTERS(m) SLOT_2_POINTERS(m), \
             n_##m, once, h);
