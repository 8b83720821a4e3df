// What attention and its gradient share.
#pragma once

#include <limits>

#include "op/rules.h"

namespace tenon {

// [B,T,N,D] -> [B,heads,N/heads T,D]: the queries that share a head of k stand below each other.
Tensor by_head(Tensor x, int64_t heads);
// [B,heads,N/heads T,D] -> [B,T,N,D].
Tensor by_time(Tensor x, int64_t length);
// scale q k' + bias, [B,N,T,S], in f32 or f64.
Tensor scores(Tensor q, Tensor k, Tensor bias, double scale);
// x[B,N,T,S] with `hidden` where key j comes after query i.
Tensor hide_future(Tensor x, double hidden);
// x[B,N,T,S] after the dropout that the attributes ask for.
Tensor dropped(Tensor x, const AttrReader& a, Tensor seed, Tensor step);

}  // namespace tenon
