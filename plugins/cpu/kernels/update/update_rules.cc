// The pointwise rules. Formulas: Kingma & Ba 2015 (adam, adamax), Loshchilov & Hutter 2019 (adamw), Dozat 2016
// (nadam), Duchi et al. 2011 (adagrad), Tieleman & Hinton 2012 (rmsprop), Zeiler 2012 (adadelta), McMahan et
// al. 2013 (ftrl), Chen et al. 2023 (lion); details as Keras has them.
#include <cmath>
#include <string_view>

#include "kernels/update/update.h"
#include "tenon/op/update_ops.h"

namespace tenon::cpu::TENON_CPU_ISA {

double one_minus_power(double b, double t) {
  const double e = t * std::log(b);
  return e < -40 ? 1 : -std::expm1(e);
}

namespace {

// Runs body(i, G) over all elements; pointers inside may be equal, never shifted.
template <class T, class Body>
inline __attribute__((always_inline)) void each(const T* g, int64_t n, const StepArgs<T>& a, Body body) {
  const T scale = a.scale;
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) body(i, scaled(scale, g[i]));
}

// c + a b in one instruction where there is one. Of two products in a sum the compiler might take either, on one machine this,
// on another that.
template <class T>
inline __attribute__((always_inline)) T plus_product(T c, T a, T b) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return c + a * b;
#endif
}

template <class T>
T larger(T a, T b) {
  return a != a || b < a ? a : b;  // NaN wins
}

struct Sgd {  // h: lr
  static void prepare(const Hyper&, double lr, double, double* h) { h[0] = lr; }
  template <class T>
  static void loop(T* p, const T* g, T* const*, int64_t n, const StepArgs<T>& a) {
    const T lr = a.h[0];
    each(g, n, a, [=](int64_t i, T G) { p[i] -= lr * G; });
  }
};

template <bool kNesterov>
struct Momentum {  // h: lr mu
  static void prepare(const Hyper& y, double lr, double, double* h) { h[0] = lr, h[1] = y.mu; }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T lr = a.h[0], mu = a.h[1];
    T* m = s[0];
    each(g, n, a, [=](int64_t i, T G) {
      const T d = lr * G, w = mu * m[i] - d;
      m[i] = w;
      p[i] += kNesterov ? mu * w - d : w;
    });
  }
};

template <bool kLargest>
struct Adam {  // h: 1-b1, 1-b2, eps, rate, decay
  static void prepare(const Hyper& y, double lr, double t, double* h) {
    h[0] = 1 - y.b1, h[1] = 1 - y.b2, h[2] = y.eps;
    h[3] = lr * std::sqrt(one_minus_power(y.b2, t)) / one_minus_power(y.b1, t);
    h[4] = 1 - lr * y.wd;
  }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T c1 = a.h[0], c2 = a.h[1], eps = a.h[2], rate = a.h[3], decay = a.h[4];
    T *m = s[0], *v = s[1], *top = s[2];
    each(g, n, a, [=](int64_t i, T G) {
      const T mi = m[i] + c1 * (G - m[i]), vi = v[i] + c2 * (G * G - v[i]);
      m[i] = mi;
      v[i] = vi;
      T w = vi;
      if constexpr (kLargest) top[i] = w = larger(top[i], vi);
      p[i] = decay * p[i] - rate * mi / (std::sqrt(w) + eps);
    });
  }
};

struct Adamax {  // h: 1-b1, b2, eps, rate
  static void prepare(const Hyper& y, double lr, double t, double* h) {
    h[0] = 1 - y.b1, h[1] = y.b2, h[2] = y.eps, h[3] = lr / one_minus_power(y.b1, t);
  }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T c1 = a.h[0], b2 = a.h[1], eps = a.h[2], rate = a.h[3];
    T *m = s[0], *u = s[1];
    each(g, n, a, [=](int64_t i, T G) {
      const T mi = m[i] + c1 * (G - m[i]), ui = larger<T>(b2 * u[i], std::fabs(G));
      m[i] = mi;
      u[i] = ui;
      p[i] -= rate * mi / (ui + eps);
    });
  }
};

struct Nadam {  // h: q (in and out), 1-b1, 1-b2, eps, lr c_t+1 / (1 - q c_t+1), lr (1-c_t) / (1-q), 1 / (1-b2^t)
  static void prepare(const Hyper& y, double lr, double t, double* h) {
    const double now = y.b1 * (1 - 0.5 * std::pow(0.96, t)), next = y.b1 * (1 - 0.5 * std::pow(0.96, t + 1));
    h[0] *= now;
    h[1] = 1 - y.b1, h[2] = 1 - y.b2, h[3] = y.eps;
    h[4] = lr * next / (1 - h[0] * next);
    h[5] = lr * (1 - now) / (1 - h[0]);
    h[6] = 1 / one_minus_power(y.b2, t);
  }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T c1 = a.h[1], c2 = a.h[2], eps = a.h[3], by_m = a.h[4], by_g = a.h[5], unbias = a.h[6];
    T *m = s[0], *v = s[1];
    each(g, n, a, [=](int64_t i, T G) {
      const T mi = m[i] + c1 * (G - m[i]), vi = v[i] + c2 * (G * G - v[i]);
      m[i] = mi;
      v[i] = vi;
      p[i] -= (by_m * mi + by_g * G) / (std::sqrt(unbias * vi) + eps);
    });
  }
};

struct Adagrad {  // h: lr eps
  static void prepare(const Hyper& y, double lr, double, double* h) { h[0] = lr, h[1] = y.eps; }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T lr = a.h[0], eps = a.h[1];
    T* sum = s[0];
    each(g, n, a, [=](int64_t i, T G) {
      const T si = sum[i] + G * G;
      sum[i] = si;
      p[i] -= lr * G / std::sqrt(si + eps);
    });
  }
};

template <bool kMomentum, bool kCentered>
struct Rmsprop {  // h: lr 1-rho mu eps; slots v u a
  static void prepare(const Hyper& y, double lr, double, double* h) {
    h[0] = lr, h[1] = 1 - y.rho, h[2] = y.mu, h[3] = y.eps;
  }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T lr = a.h[0], c = a.h[1], mu = a.h[2], eps = a.h[3];
    T *v = s[0], *u = s[1], *mean = s[2];
    each(g, n, a, [=](int64_t i, T G) {
      T w = v[i] + c * (G * G - v[i]);
      v[i] = w;
      if constexpr (kCentered) {
        const T ai = mean[i] + c * (G - mean[i]);
        mean[i] = ai;
        w -= ai * ai;
      }
      T d = lr * G / std::sqrt(w + eps);
      if constexpr (kMomentum) u[i] = d = mu * u[i] + d;
      p[i] -= d;
    });
  }
};

struct Adadelta {  // h: lr 1-rho eps
  static void prepare(const Hyper& y, double lr, double, double* h) { h[0] = lr, h[1] = 1 - y.rho, h[2] = y.eps; }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T lr = a.h[0], c = a.h[1], eps = a.h[2];
    T *square = s[0], *moved = s[1];
    each(g, n, a, [=](int64_t i, T G) {
      const T si = square[i] + c * (G * G - square[i]);
      square[i] = si;
      const T d = G * std::sqrt(moved[i] + eps) / std::sqrt(si + eps);
      moved[i] += c * (d * d - moved[i]);
      p[i] -= lr * d;
    });
  }
};

template <bool kRoot>  // lr_power = -0.5
struct Ftrl {          // h: 1/lr, -lr_power, l1, 2 l2_reg + beta/lr, 2 shrink
  static void prepare(const Hyper& y, double lr, double, double* h) {
    h[0] = 1 / lr, h[1] = -y.lr_power, h[2] = y.l1, h[3] = 2 * y.l2_reg + y.beta / lr, h[4] = 2 * y.shrink;
  }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T per_lr = a.h[0], k = a.h[1], l1 = a.h[2], base = a.h[3], shrink = a.h[4];
    const auto power = [=](T x) { return kRoot ? std::sqrt(x) : std::pow(x, k); };
    T *sum = s[0], *z = s[1];
    each(g, n, a, [=](int64_t i, T G) {
      const T before = sum[i], after = before + G * G;
      const T high = power(after) * per_lr, sigma = plus_product(high, -power(before), per_lr);
      const T zi = z[i] + plus_product(plus_product(G, shrink, p[i]), -sigma, p[i]);
      sum[i] = after;
      z[i] = zi;
      const T clipped = zi > l1 ? l1 : zi < -l1 ? -l1 : zi;
      p[i] = (clipped - zi) / (high + base);
    });
  }
};

struct Lion {  // h: lr 1-b1 1-b2
  static void prepare(const Hyper& y, double lr, double, double* h) { h[0] = lr, h[1] = 1 - y.b1, h[2] = 1 - y.b2; }
  template <class T>
  static void loop(T* p, const T* g, T* const* s, int64_t n, const StepArgs<T>& a) {
    const T lr = a.h[0], to_c = a.h[1], to_m = a.h[2];
    T* m = s[0];
    each(g, n, a, [=](int64_t i, T G) {
      const T c = m[i] + to_c * (G - m[i]);
      const T sign = c > 0 ? T(1) : c < 0 ? T(-1) : c;
      m[i] += to_m * (G - m[i]);
      p[i] -= lr * sign;
    });
  }
};

template <class Rule>
const PointwiseRule* rule() {
  static constexpr PointwiseRule kRule = {Rule::prepare, Rule::template loop<float>, Rule::template loop<double>};
  return &kRule;
}

template <class Rule>
const PointwiseRule* plain(const NodeView&) {
  return rule<Rule>();
}

const PointwiseRule* momentum_rule(const NodeView& node) {
  return node.flag("nesterov") ? rule<Momentum<true>>() : rule<Momentum<false>>();
}

const PointwiseRule* adam_rule(const NodeView& node) {
  return node.flag("amsgrad") ? rule<Adam<true>>() : rule<Adam<false>>();
}

const PointwiseRule* rmsprop_rule(const NodeView& node) {
  const bool momentum = node.has(TENON_UPDATE_SLOTS + 1), centered = node.flag("centered");
  if (momentum) return centered ? rule<Rmsprop<true, true>>() : rule<Rmsprop<true, false>>();
  return centered ? rule<Rmsprop<false, true>>() : rule<Rmsprop<false, false>>();
}

const PointwiseRule* ftrl_rule(const NodeView& node) {
  return node.f64("lr_power") == -0.5 ? rule<Ftrl<true>>() : rule<Ftrl<false>>();
}

struct RuleOfUpdate {
  std::string_view op;
  const PointwiseRule* (*of)(const NodeView&);  // by the node's attributes
};
constexpr RuleOfUpdate kRules[] = {
    {"sgd_update", plain<Sgd>},         {"momentum_update", momentum_rule}, {"adam_update", adam_rule},
    {"adamw_update", adam_rule},        {"adamax_update", plain<Adamax>},   {"nadam_update", plain<Nadam>},
    {"adagrad_update", plain<Adagrad>}, {"rmsprop_update", rmsprop_rule},   {"adadelta_update", plain<Adadelta>},
    {"ftrl_update", ftrl_rule},         {"lion_update", plain<Lion>},
};
// Those of update_norms.cc.
constexpr std::string_view kNormed[] = {"lamb_update", "adafactor_update"};

constexpr const RuleOfUpdate* find_rule(std::string_view op) {
  for (const RuleOfUpdate& rule : kRules)
    if (rule.op == op) return &rule;
  return nullptr;
}

constexpr bool all_updates_have_rules() {
  for (const op::Row& row : op::kUpdateOps) {
    bool normed = false;
    for (const std::string_view name : kNormed) normed |= row.name == name;
    if (normed == (find_rule(row.name) != nullptr)) return false;
  }
  return true;
}
static_assert(all_updates_have_rules(),
              "an update of tenon/op/update_ops.h is in neither kRules nor kNormed, or in both");

}  // namespace

const PointwiseRule* pointwise_rule(std::string_view op, const NodeView& node) {
  const RuleOfUpdate* found = find_rule(op);
  return found ? found->of(node) : nullptr;
}

}  // namespace tenon::cpu::TENON_CPU_ISA
