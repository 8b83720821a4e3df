// How all pictures look.
#pragma once

#include <cstddef>

#include "pictures/canvas.h"

namespace tenon::pictures {

inline constexpr Color kInk{0.13, 0.14, 0.16}, kSoftInk{0.38, 0.40, 0.43}, kGrid{0.90, 0.905, 0.915},
    kAxis{0.62, 0.64, 0.67}, kPaper{1, 1, 1}, kEmpty{0.965, 0.967, 0.972};
inline constexpr double kMargin = 28, kTitleSize = 17, kHeadingSize = 13, kTextSize = 12, kSmallSize = 11;

// Okabe and Ito's colours, which people of any colour vision tell apart, the strongest first; after them they come again.
inline constexpr Color kColors[] = {{0.000, 0.447, 0.698}, {0.835, 0.369, 0.000}, {0.000, 0.620, 0.451},
                                    {0.800, 0.475, 0.655}, {0.902, 0.624, 0.000}, {0.337, 0.706, 0.914},
                                    {0.35, 0.35, 0.35}};
inline constexpr size_t kColorCount = sizeof kColors / sizeof kColors[0];
inline Color color_of(size_t i) { return kColors[i % kColorCount]; }

// From white to the colour, `share` from 0 to 1.
inline Color tint(Color c, double share) {
  return {1 - (1 - c.red) * share, 1 - (1 - c.green) * share, 1 - (1 - c.blue) * share};
}

// Title and subtitle; what follows begins kHeadRoom below the margin.
inline constexpr double kHeadRoom = 62;
inline void draw_head(Canvas& canvas, const std::string& title, const std::string& subtitle, double width) {
  canvas.text({kMargin, kMargin + 8}, title, {.size = kTitleSize, .color = kInk, .bold = true, .most_width = width});
  canvas.text({kMargin, kMargin + 34}, subtitle, {.size = kTextSize, .color = kSoftInk, .most_width = width});
}

}  // namespace tenon::pictures
