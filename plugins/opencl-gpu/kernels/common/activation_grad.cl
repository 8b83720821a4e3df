// The gradients of the activations, -D ACT: its number (tenon_act). t is the result up to softplus, else the argument.
static inline W act_sigmoid(W x) { return 1 / (1 + exp(-x)); }

static inline W act_grad(W g, W t, W alpha) {
#if ACT == 1
  return t > 0 ? g : 0;
#elif ACT == 2
  return t > 0 && t < 6 ? g : 0;
#elif ACT == 3
  return t > 0 ? g : alpha * g;
#elif ACT == 4
  return t < 0 ? g * (t + alpha) : g;
#elif ACT == 5
  return t < 0 ? g * (t + (W)1.7580993408473766) : (W)1.0507009873554805 * g;
#elif ACT == 6
  return g * (t * (1 - t));
#elif ACT == 7
  return g * (1 - t * t);
#elif ACT == 8
  return g * -expm1(-t);
#elif ACT == 9
  const W cdf = (W)0.5 * erfc(t * (W)-0.70710678118654752), density = (W)0.3989422804014327 * exp((W)-0.5 * t * t);
  return g * (cdf + t * density);
#elif ACT == 10
  const W s = act_sigmoid((W)1.5957691216057308 * (t + (W)0.044715 * (t * t * t)));
  const W slope = (W)1.5957691216057308 * (1 + (W)0.134145 * (t * t));
  return g * (s + t * (s * (1 - s)) * slope);
#elif ACT == 11
  const W s = act_sigmoid(t);
  return g * (s * (1 + t * (1 - s)));
#elif ACT == 12
  const W e = exp(t < 25 ? t : t != t ? t : (W)25), n = e * (e + 2), d = n + 2;
  return g * (n / d + t * (4 * (e / d) * ((1 + e) / d)));
#elif ACT == 13
  return fabs(t) < 3 ? g / 6 : 0;
#elif ACT == 14
  return g * (t <= -3 ? 0 : t >= 3 ? 1 : (2 * t + 3) / 6);
#else
  return g;
#endif
}
