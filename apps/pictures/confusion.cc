#include "pictures/confusion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pictures/axis.h"
#include "pictures/style.h"

namespace tenon::pictures {
namespace {

constexpr size_t kMostNumbers = 26, kMostNames = 60;  // classes with counts in the cells, and with names beside them
constexpr double kLeastNameWidth = 42, kMostNameWidth = 150, kAxisName = 22, kBeside = 54;

double cell_of(size_t classes) {
  return classes <= 12             ? 50
         : classes <= kMostNumbers ? 36
         : classes <= kMostNames   ? 18
                                   : 900.0 / static_cast<double>(classes);
}

std::string share_text(int64_t part, int64_t all) {
  if (all == 0) return "–";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(all);
  return number_label(percent, percent >= 99.95 || percent < 0.05 ? 1 : 0.1) + " %";
}

class MatrixDrawing {
 public:
  MatrixDrawing(Canvas& canvas, const ConfusionPicture& p)
      : canvas_(canvas), p_(p), n_(p.classes.size()), cell_(cell_of(n_)) {
    if (has_names())
      for (const std::string& name : p.classes)
        widest_ = std::max(widest_, canvas.measure(name, {.size = name_size(), .most_width = kMostNameWidth}).width);
    down_ = turned() ? widest_ * std::sin(kSlope * M_PI / 180) + 16 : 20;
    const double side = cell_ * static_cast<double>(n_);
    grid_ = {kMargin + kAxisName + widest_ + 10, kMargin + kHeadRoom + kAxisName + down_, side, side};
  }

  Extent size() const {
    const double slanted = turned() ? widest_ * std::cos(kSlope * M_PI / 180) - cell_ / 2 : 0;
    return {grid_.right() + std::max(kBeside, slanted) + kMargin, grid_.bottom() + 34 + kMargin};
  }

  void draw() {
    draw_head(canvas_, p_.title, p_.subtitle, size().width - 2 * kMargin);
    draw_names();
    for (size_t truth = 0; truth < n_; ++truth)
      for (size_t taken = 0; taken < n_; ++taken) draw_cell(truth, taken);
    draw_shares();
  }

 private:
  static constexpr double kSlope = 45;
  bool has_names() const { return n_ <= kMostNames; }
  double name_size() const { return n_ <= kMostNumbers ? kTextSize : 10; }
  // Names above the columns lie slanted where they are wider than these.
  bool turned() const { return std::max(widest_, kLeastNameWidth) > cell_ - 4; }

  int64_t row_sum(size_t truth) const {
    return std::accumulate(p_.counts[truth].begin(), p_.counts[truth].end(), int64_t{0});
  }
  int64_t column_sum(size_t taken) const {
    int64_t sum = 0;
    for (const auto& row : p_.counts) sum += row[taken];
    return sum;
  }

  void draw_names() {
    const TextStyle heading{.size = kSmallSize, .color = kSoftInk, .bold = true, .across = Across::kMiddle};
    TextStyle side = heading;
    side.turned = -90;
    canvas_.text({kMargin + 6, grid_.middle().y}, "true class", side);
    canvas_.text({grid_.middle().x, grid_.y - down_ - 10}, "predicted class", heading);
    if (!has_names()) return;
    for (size_t i = 0; i < n_; ++i) {
      const double at = (static_cast<double>(i) + 0.5) * cell_;
      TextStyle style{.size = name_size(), .color = kInk, .across = Across::kRight, .most_width = kMostNameWidth};
      canvas_.text({grid_.x - 10, grid_.y + at}, p_.classes[i], style);
      style.across = turned() ? Across::kLeft : Across::kMiddle;
      style.turned = turned() ? -kSlope : 0;
      canvas_.text({grid_.x + at - (turned() ? 4 : 0), grid_.y - (turned() ? 9 : 11)}, p_.classes[i], style);
    }
  }

  void draw_cell(size_t truth, size_t taken) {
    const int64_t count = p_.counts[truth][taken], all = row_sum(truth);
    const double share = all == 0 ? 0 : static_cast<double>(count) / static_cast<double>(all),
                 gap = cell_ >= 18 ? 1 : 0;
    const Color color = truth == taken ? kColors[0] : kColors[1];
    // Few of many are to be seen too.
    const double shade = truth == taken ? share : std::sqrt(share);
    const Box box{grid_.x + static_cast<double>(taken) * cell_ + gap,
                  grid_.y + static_cast<double>(truth) * cell_ + gap, cell_ - 2 * gap, cell_ - 2 * gap};
    canvas_.fill(box, count == 0 ? kEmpty : tint(color, 0.10 + 0.90 * shade), gap > 0 ? 3 : 0);
    if (n_ > kMostNumbers || count == 0) return;
    const double size = cell_ >= 50 ? 12 : 10, fitting = count < 10000 ? size : size - 2;
    canvas_.text(box.middle(), number_label(static_cast<double>(count), 1),
                 {.size = fitting, .color = shade > 0.55 ? kPaper : kInk, .across = Across::kMiddle});
  }

  void draw_shares() {
    if (n_ > kMostNumbers) return;
    const TextStyle style{.size = 10.5, .color = kSoftInk, .across = Across::kLeft};
    for (size_t i = 0; i < n_; ++i)
      canvas_.text({grid_.right() + 8, grid_.y + (static_cast<double>(i) + 0.5) * cell_},
                   share_text(p_.counts[i][i], row_sum(i)), style);
    TextStyle below = style;
    below.across = Across::kMiddle;
    if (cell_ < 50) below.size = 8;
    for (size_t i = 0; i < n_; ++i)
      canvas_.text({grid_.x + (static_cast<double>(i) + 0.5) * cell_, grid_.bottom() + 13},
                   share_text(p_.counts[i][i], column_sum(i)), below);
    TextStyle what = style;
    what.across = Across::kRight;
    what.most_width = widest_ + kAxisName;
    canvas_.text({grid_.x - 10, grid_.bottom() + 13}, "precision", what);
    canvas_.text({grid_.right() + 8, grid_.y - 11}, turned() ? "" : "recall", style);
    if (turned()) canvas_.text({grid_.right() + 8, grid_.bottom() + 13}, "recall ↑", style);
  }

  Canvas& canvas_;
  const ConfusionPicture& p_;
  size_t n_;
  double cell_, widest_ = kLeastNameWidth, down_ = 0;
  Box grid_;
};

}  // namespace

Extent size_of(Canvas& canvas, const ConfusionPicture& picture) { return MatrixDrawing(canvas, picture).size(); }
void draw(Canvas& canvas, const ConfusionPicture& picture, Extent) { MatrixDrawing(canvas, picture).draw(); }

}  // namespace tenon::pictures
