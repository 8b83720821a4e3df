// Operands of products of bf16 by pairs, as the product reads them.
#pragma once

#include "kernels/dtype.h"
#include "kernels/pairs.h"
#include "kernels/work.h"

namespace tenon::cpu::TENON_CPU_ISA {

// A matrix [P, R, C] of bf16 as words of two elements of a row or of a column, and where in scratch memory they are made.
// Where f32 arithmetic multiplies them, the floats that the words would hold take their place.
struct Words {
  int64_t count = 1, rows = 1, columns = 1;
  bool down = false;   // a word holds two elements of a column
  bool plain = false;  // they are made while the product packs them
  uint64_t at = 0;     // in scratch
  bool wide = !has_pair_products();

  int64_t deep() const { return ceil_div(down ? rows : columns, 2); }
  int64_t size() const { return (wide ? 2 : 1) * deep() * (down ? columns : rows); }  // of one matrix
  bool ready() const { return plain || (!wide && !down && columns % 2 == 0); }
  uint64_t bytes() const { return ready() ? 0 : static_cast<uint64_t>(count * size()) * 4; }

  void make(const Call& call, const uint16_t* from) const {
    if (ready()) return;
    uint32_t* const to = reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(call.scratch) + at);
    if (!down) return (wide ? widen_columns : pair_columns)(from, columns, call.share(count * rows), to);
    const Slice part = call.share(count * deep());
    for (int64_t w = part.begin; w < part.end;) {
      const int64_t p = w / deep(), first = w % deep(), end = std::min(part.end - p * deep(), deep());
      (wide ? widen_rows : pair_rows)(from + p * rows * columns, rows, columns, {first, end}, to + p * size());
      w = p * deep() + end;
    }
  }
  const float* of(const Call& call, const uint16_t* from) const {
    return ready() ? reinterpret_cast<const float*>(from)
                   : reinterpret_cast<const float*>(static_cast<const uint8_t*>(call.scratch) + at);
  }
};

}  // namespace tenon::cpu::TENON_CPU_ISA
