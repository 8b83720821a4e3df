// What kernels of optimizer updates share: hyperparameters, and the operands beside the variable, its gradient and its
// slots. D: dtype of p and the slots, G: of the gradient. tenon/abi/optimizer.h has the formulas.
typedef WIDE(D) T;

typedef struct {
  T c1, c2, b1, b2, log_b1, log_b2, eps, wd, mu, l1, l2_reg, shrink, beta, power;  // c1 = 1 - b1, or 1 - rho
} Hyper;

static inline T one_minus_power(T log_b, T t) {
  const T e = t * log_b;
  return e < -40 ? 1 : -expm1(e);
}

#define LARGER(a, b) ((a) != (a) || (b) < (a) ? (a) : (b))
// The gradient, rounded: as 0 is added to the product, the compiler takes it into no sum of the rule's.
#define SCALED(scale, g) ((scale) * (g) + (T)0)
#define TOWARD(mean, x, c) ((mean) + (c) * ((x) - (mean)))

typedef struct {
  T lr, t, scale;
  int open, nesterov;
} Once;

#define UPDATE_SHARES MEM(lr), MEM(step), MEM(scale), MEM(gate), int has_scale, int has_gate, int nesterov, Hyper h
#define BEGIN                                                                                               \
  const Once once = {*POINTER(const float, lr), (T)(*POINTER(const long, step) + 1),                        \
                     has_scale ? (T)*POINTER(const float, scale) : 1,                                       \
                     has_gate ? *POINTER(const uchar, gate) != 0 : 1, nesterov};
