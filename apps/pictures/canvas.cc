#include "pictures/canvas.h"

#include "tenon/part.h"
#include "tenon/status.h"

namespace tenon::pictures {
namespace {

tenon_canvas_new_fn* load_library() {
  const Part part = Part::open({"pictures/cairo", "pictures", "tenon-pictures", "libpango1.0-dev"}).take();
  const auto version = part.function<tenon_canvas_version_fn>("tenon_canvas_version");
  const auto make = part.function<tenon_canvas_new_fn>("tenon_canvas_new");
  if (!version || !make || version() != kCanvasVersion) throw Error(part.other_version());
  return make;
}

}  // namespace

std::unique_ptr<Canvas> new_canvas(Format format, double width, double height, double scale) {
  static tenon_canvas_new_fn* const make = load_library();
  std::unique_ptr<Canvas> canvas(make(format, width, height, scale));
  if (!canvas) throw Error(Status(Code::kOutOfMemory, "a picture of that size cannot be made"));
  return canvas;
}

}  // namespace tenon::pictures
