#include "kernels/conv/direct/conv_groups.h"
#include "kernels/conv/gather/conv_gather.h"

namespace tenon::cpu::TENON_CPU_ISA {

void Gather::block(const ConvData& d, const Block& b, int64_t q) const {
  for (size_t i = 0; i < phases_.size(); ++i) {
    const int64_t rows = std::min(rows_, p_.phases[i].count[axis_] - q), points = rows * phases_[i].points;
    if (points <= 0) continue;
    if (phases_[i].depth == 0)
      clear(phases_[i], b.to, points, channels(b.part));
    else if (narrow_ > 0)
      narrow(phases_[i], d, b, points);
    else if (fresh_ > 0)
      dense_fresh(phases_[i], d, b, points);
    else
      dense(phases_[i], d, b, points);
  }
}

// Points that no tap reaches.
void Gather::clear(const Phase& phase, float* to, int64_t points, Slice channels) const {
  for (int64_t i = 0; i < points; ++i) {
    float* const at = to + phase.to_rows[static_cast<size_t>(i)];
    std::fill(at + channels.begin, at + channels.end, 0.0f);
  }
}

void Gather::set_piece(const Phase& phase, const Piece& piece, const Block& b, int64_t column, Panel* panel) const {
  const bool end = &piece == &phase.pieces.back();
  panel->a = b.from + piece.offset;
  panel->runs = phase.runs.data() + piece.first_run;
  panel->n_runs = piece.runs;
  panel->run_length = piece.length;
  panel->w_step = padded_columns(panel->columns);
  panel->c = b.to + column;
  panel->accumulate = piece.depth > 0;
  panel->residual = end && b.residual ? b.residual + column : nullptr;
  panel->act = end ? p_.act : TENON_ACT_NONE;
  panel->pairs = p_.pairs;
  panel->tiles = p_.tiles;
}

void Gather::dense(const Phase& phase, const ConvData& d, const Block& b, int64_t points) const {
  const int64_t from_c = p_.from_c / p_.groups, to_c = p_.to_c / p_.groups;
  const auto [first, last] = channels(b.part);
  Panel panel;
  panel.a_rows = phase.from_rows.data();
  panel.c_rows = phase.to_rows.data();
  panel.alpha = p_.alpha;
  for (int64_t group = 0; group < p_.groups; ++group)
    for (int64_t j = 0; j < to_c; j += panel.columns) {
      panel.columns = static_cast<int>(panel_columns(to_c - j));
      if (j < first || j >= last) continue;
      const int64_t column = group * to_c + j;
      const float* w = b.weights + phase.weights + (group * packed_columns(to_c) + j) * phase.depth;
      panel.bias = d.bias ? d.bias + column : nullptr;
      for (const Piece& piece : phase.pieces) {
        panel.norm = &piece == &phase.pieces.back() ? d.norm.at(column) : ColumnNorm{};
        set_piece(phase, piece, b, column, &panel);
        panel.a += group * from_c;
        panel.w = w + piece.depth * panel.w_step;
        run_panel(panel, points);
      }
    }
}

// Packs a piece of the weights of a panel as its first points read it.
void Gather::dense_fresh(const Phase& phase, const ConvData& d, const Block& b, int64_t points) const {
  const auto [first, last] = channels(b.part);
  Panel panel;
  panel.a_rows = phase.from_rows.data();
  panel.c_rows = phase.to_rows.data();
  panel.alpha = p_.alpha;
  for (const Piece& piece : phase.pieces) {
    const int64_t depth = piece.runs * piece.length;
    const float* const w = b.weights + piece.depth * p_.to_c;
    for (int64_t j = first; j < last; j += panel.columns) {
      panel.columns = static_cast<int>(panel_columns(last - j));
      panel.bias = d.bias ? d.bias + j : nullptr;
      panel.norm = &piece == &phase.pieces.back() ? d.norm.at(j) : ColumnNorm{};
      set_piece(phase, piece, b, j, &panel);
      if (panel.columns == kPanelColumns) {
        const bool end = &piece == &phase.pieces.back();
        panel.w = w + j;
        panel.w_step = p_.to_c;
        run_streamed(panel,
                     {b.fresh,
                      j + kPanelColumns < last ? w + j + kPanelColumns
                      : end                    ? b.next
                                               : w + depth * p_.to_c + first,
                      p_.to_c},
                     points);
        continue;
      }
      pack_panels(w + j, depth, panel.columns, p_.to_c, depth, b.fresh);
      panel.w = b.fresh;
      run_panel(panel, points);
    }
  }
}

void Gather::narrow(const Phase& phase, const ConvData& d, const Block& b, int64_t points) const {
  GroupPanel panel;
  panel.group = narrow_;
  panel.a_rows = phase.from_rows.data();
  panel.c_rows = phase.to_rows.data();
  panel.taps = static_cast<int64_t>(phase.runs.size());
  panel.a_taps = phase.runs.data();
  panel.w_taps = phase.taps.data();
  panel.act = p_.act;
  panel.alpha = p_.alpha;
  panel.columns = p_.to_c;
  panel.a = b.from;
  panel.w = b.weights;
  panel.c = b.to;
  panel.bias = d.bias;
  panel.norm = d.norm;
  panel.residual = b.residual;
  run_group_panel(panel, points);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
