// The activations of the op set, -D ACT: its number (tenon_act). W: what is computed with.
#define INLINE static inline __attribute__((always_inline))
#define ACT_FLOOR(V, x) (((x) < (V)(0)) ? (V)(0) : (x)) /* NaN stays */
#define ACT_RELU6(V, x) ((ACT_FLOOR(V, x) > (V)(6)) ? (V)(6) : ACT_FLOOR(V, x))
#define ACT_SIGMOID(V, x) ((V)(1) / ((V)(1) + exp(-(x))))

#if ACT == 1
#define ACT_OF(V) return ACT_FLOOR(V, x);
#elif ACT == 2
#define ACT_OF(V) return ACT_RELU6(V, x);
#elif ACT == 3
#define ACT_OF(V) return (x > (V)(0)) ? x : alpha * x;
#elif ACT == 4
#define ACT_OF(V) return (x > (V)(0)) ? x : alpha * expm1(x);
#elif ACT == 5
#define ACT_OF(V) return (W)1.0507009873554805 * ((x > (V)(0)) ? x : (W)1.6732632423543772 * expm1(x));
#elif ACT == 6
#define ACT_OF(V) return ACT_SIGMOID(V, x);
#elif ACT == 7
#define ACT_OF(V) return tanh(x);
#elif ACT == 8
#define ACT_OF(V) return ACT_FLOOR(V, x) + log1p(exp(-fabs(x)));
#elif ACT == 9
#define ACT_OF(V) return x * ((W)0.5 * erfc(x * (W)-0.70710678118654752));
#elif ACT == 10  // (1 + tanh u) / 2 = sigmoid(2 u) does not cancel
#define ACT_OF(V) return x * ACT_SIGMOID(V, (W)1.5957691216057308 * (x + (W)0.044715 * (x * x * x)));
#elif ACT == 11
#define ACT_OF(V) return x * ACT_SIGMOID(V, x);
#elif ACT == 12  // tanh(log(1 + e)) = n / (n + 2)
#define ACT_OF(V)                     \
  V e = exp(min(x, (V)(25)));         \
  V n = e * (e + (V)(2));             \
  return x * (n / (n + (V)(2)));
#elif ACT == 13
#define ACT_OF(V) return ACT_RELU6(V, x + (V)(3)) / (V)(6);
#elif ACT == 14
#define ACT_OF(V) return x * ACT_RELU6(V, x + (V)(3)) / (V)(6);
#else
#define ACT_OF(V) return x;
#endif

// ACTIVATION(name, V) defines `V name(V x, W alpha)`, V: W or a vector of it.
#define ACTIVATION(name, V) \
  INLINE V name(V x, W alpha) { ACT_OF(V) }
