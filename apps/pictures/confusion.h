// What a classifier takes each class for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pictures/canvas.h"

namespace tenon::pictures {

struct ConfusionPicture {
  std::string title, subtitle = {};
  std::vector<std::string> classes;
  std::vector<std::vector<int64_t>> counts;  // [true class][predicted class]
};

// Cells are of the share of their true class: what is right in one colour, what is wrong in another. Counts stand in the cells
// where there are few classes; beside them how many of a class were found, and below them how many taken for it belong to it.
Extent size_of(Canvas& canvas, const ConfusionPicture& picture);
void draw(Canvas& canvas, const ConfusionPicture& picture, Extent size);

}  // namespace tenon::pictures
