// Updates of variables, one an optimizer. G = scale g; positions of the operands are those of tenon/abi/optimizer.h.
// Rows of the table of ops: tenon/op/table.h.
#pragma once

#include "tenon/op/row.h"

namespace tenon::op {

// clang-format off
#define TENON_UPDATE "p:F g:F lr:F step:I [scale:F] [gate:B] [rows:I]"
inline constexpr Row kUpdateOps[] = {
    {"sgd_update",
     TENON_UPDATE " -> p",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyGradientDescent",
     "p' = p - lr G with G = scale g. With rows, g holds the gradients of those rows of p: repeated rows "
     "add, rows out of range are dropped. A false gate returns the inputs.", {0, true}},
    {"momentum_update",
     TENON_UPDATE " m:F ; mu:f64 nesterov:bool=false -> p m",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyKerasMomentum",
     "m' = mu m - lr G, p' = p + m', or with nesterov p + mu m' - lr G; G, rows and gate as in sgd_update "
     "(Sutskever et al. 2013, in Keras's form).", {1, true}},
    {"adam_update",
     TENON_UPDATE " m:F v:F [vmax:F] ; b1:f64 b2:f64 eps:f64 amsgrad:bool=false -> p m v [vmax]",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyAdam",
     "m and v become running means of G and G^2; p' = p - lr sqrt(1 - b2^t) / (1 - b1^t) m' / (sqrt(v') + eps), t = "
     "step + 1 (Kingma and Ba 2015, the form at the end of section 2). amsgrad divides by the largest v so far, "
     "vmax. G, rows and gate as in sgd_update; moments decay in rows without a gradient too.", {2, true}},
    {"adamw_update",
     TENON_UPDATE " m:F v:F [vmax:F] ; b1:f64 b2:f64 eps:f64 amsgrad:bool=false wd:f64=0 -> p m v [vmax]",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyAdam",
     "adam_update after p has been multiplied by 1 - lr wd: decoupled weight decay (Loshchilov and Hutter 2019).",
     {2, true}},
    {"adamax_update",
     TENON_UPDATE " m:F u:F ; b1:f64 b2:f64 eps:f64 -> p m u",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyAdaMax",
     "m' is the running mean of G, u' = max(b2 u, |G|); p' = p - lr / (1 - b1^t) m' / (u' + eps), t = step + 1 "
     "(Kingma and Ba 2015, section 7.1). G, rows and gate as in sgd_update.", {2, true}},
    {"nadam_update",
     TENON_UPDATE " m:F v:F q:F ; b1:f64 b2:f64 eps:f64 -> p m v q",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "",
     "Adam with Nesterov momentum (Dozat 2016): c_t = b1 (1 - 0.96^t / 2), q' = q c_t, the product of all of them "
     "(q starts at 1), p' = p - lr (c_{t+1} m' / (1 - q' c_{t+1}) + (1 - c_t) G / (1 - q')) / (sqrt(v' / (1 - "
     "b2^t)) + eps). G, rows and gate as in sgd_update.", {3, false}},
    {"adagrad_update",
     TENON_UPDATE " s:F ; eps:f64 -> p s",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyAdagrad",
     "s' = s + G^2, p' = p - lr G / sqrt(s' + eps); G, rows and gate as in sgd_update (Duchi et al. 2011).", {1, true}},
    {"rmsprop_update",
     TENON_UPDATE " v:F [u:F] [a:F] ; rho:f64 mu:f64=0 eps:f64 centered:bool=false -> p v [u] [a]",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyRMSProp",
     "v' = rho v + (1 - rho) G^2, u' = mu u + lr G / sqrt(v' + eps), p' = p - u'; centered subtracts the square of "
     "a', the running mean of G, from v' below the root. Slots by position: u may be absent when mu is 0, unless "
     "centered asks for a after it. G, rows and gate as in sgd_update (Tieleman and Hinton 2012).", {1, true}},
    {"adadelta_update",
     TENON_UPDATE " s:F e:F ; rho:f64 eps:f64 -> p s e",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyAdadelta",
     "s' = rho s + (1 - rho) G^2, d = G sqrt(e + eps) / sqrt(s' + eps), e' = rho e + (1 - rho) d^2, p' = p - lr d; "
     "G, rows and gate as in sgd_update (Zeiler 2012).", {2, true}},
    {"ftrl_update",
     TENON_UPDATE " n:F z:F ; lr_power:f64=-0.5 l1:f64=0 l2_reg:f64=0 shrink:f64=0 beta:f64=0 -> p n z",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "ResourceApplyFtrlV2",
     "Follow the regularised leader (McMahan et al. 2013): n' = n + G^2, z' = z + G + 2 shrink p - (n'^k - n^k) / "
     "lr p, p' = (clip(z', -l1, l1) - z') / (n'^k / lr + 2 l2_reg + beta / lr), k = -lr_power. n starts above 0. G, "
     "rows and gate as in sgd_update.", {2, true}},
    {"lamb_update",
     TENON_UPDATE " m:F v:F ; b1:f64 b2:f64 eps:f64 -> p m v",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "",
     "Adam's direction r = m' / (1 - b1^t) / (sqrt(v' / (1 - b2^t)) + eps), scaled to the variable: p' = p - lr norm(p) "
     "/ norm(r) r, the ratio 1 if a norm is 0 (You et al. 2020). G, rows and gate as in sgd_update.", {2, false}},
    {"lion_update",
     TENON_UPDATE " m:F ; b1:f64 b2:f64 -> p m",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "",
     "p' = p - lr sign(b1 m + (1 - b1) G), then m' = b2 m + (1 - b2) G (Chen et al. 2023). G, rows and gate as in "
     "sgd_update.", {1, true}},
    {"adafactor_update",
     TENON_UPDATE " r:F [c:F] ; eps1:f64=1e-30 eps2:f64=0.001 -> p r [c]",
     Level::kComposite, Category::kUpdate, Values::kComputed, {}, 16, "",
     "Shazeer and Stern 2018: from rank 2 on r' and c' are running means, by 1 - t^-0.8, of G^2 + eps1 over the "
     "last and the second last axis, v = r' c' / mean(r'); below, r is v itself, of p's shape. u = G / sqrt(v), "
     "divided by max(1, rms(u)); p' = p - max(eps2, rms(p)) min(lr, t^-0.5) u. G, rows and gate as in sgd_update.",
     {1, false}},
};
#undef TENON_UPDATE
// clang-format on

}  // namespace tenon::op
