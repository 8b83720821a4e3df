// A canvas of cairo and pango.
#include <cairo-svg.h>
#include <cairo.h>
#include <pango/pangocairo.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "pictures/canvas.h"

namespace tenon::pictures {
namespace {

constexpr const char* kFonts = "DejaVu Sans, Liberation Sans, sans-serif";
constexpr double kPi = 3.14159265358979323846;

cairo_status_t append_bytes(void* out, const unsigned char* bytes, unsigned length) {
  try {
    static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

class CairoCanvas : public Canvas {
 public:
  CairoCanvas(Format format, double width, double height, double scale) : format_(format) {
    if (format == Format::kSvg) {
      surface_ = cairo_svg_surface_create_for_stream(append_bytes, &file_, width, height);
      cairo_svg_surface_set_document_unit(surface_, CAIRO_SVG_UNIT_PX);
    } else {
      surface_ = cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::lround(width * scale)),
                                            static_cast<int>(std::lround(height * scale)));
      cairo_surface_set_device_scale(surface_, scale, scale);
    }
    cairo_ = cairo_create(surface_);
    layout_ = pango_cairo_create_layout(cairo_);
    cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(cairo_, CAIRO_LINE_CAP_BUTT);
    // Text of one width whatever the scale.
    cairo_font_options_t* options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(pango_layout_get_context(layout_), options);
    cairo_font_options_destroy(options);
    set_color({1, 1, 1});
    cairo_paint(cairo_);
  }
  ~CairoCanvas() override {
    g_object_unref(layout_);
    cairo_destroy(cairo_);
    cairo_surface_destroy(surface_);
  }

  bool ok() const { return cairo_status(cairo_) == CAIRO_STATUS_SUCCESS; }

  Extent measure(const std::string& text, const TextStyle& style) override {
    lay_out(text, style);
    int width = 0, height = 0;
    pango_layout_get_size(layout_, &width, &height);
    return {pango_units_to_double(width), pango_units_to_double(height)};
  }

  void text(Place at, const std::string& text, const TextStyle& style) override {
    const Extent size = measure(text, style);
    const double left = style.across == Across::kLeft     ? 0
                        : style.across == Across::kMiddle ? size.width / 2
                                                          : size.width;
    const double top = style.down == Down::kTop ? 0 : style.down == Down::kMiddle ? size.height / 2 : size.height;
    cairo_save(cairo_);
    cairo_translate(cairo_, at.x, at.y);
    cairo_rotate(cairo_, style.turned * kPi / 180);
    cairo_move_to(cairo_, -left, -top);
    set_color(style.color);
    pango_cairo_show_layout(cairo_, layout_);
    cairo_restore(cairo_);
  }

  void line(const std::vector<Place>& points, const Stroke& stroke) override {
    if (points.empty()) return;
    cairo_new_path(cairo_);
    for (const Place& p : points) cairo_line_to(cairo_, p.x, p.y);
    set_color(stroke.color);
    cairo_set_line_width(cairo_, stroke.width);
    cairo_set_dash(cairo_, stroke.dashes.data(), static_cast<int>(stroke.dashes.size()), 0);
    cairo_stroke(cairo_);
  }

  void fill(const Box& box, Color color, double corner) override {
    set_color(color);
    cairo_new_path(cairo_);
    if (corner <= 0) {
      cairo_rectangle(cairo_, box.x, box.y, box.width, box.height);
    } else {
      const double r = std::min({corner, box.width / 2, box.height / 2});
      cairo_arc(cairo_, box.right() - r, box.y + r, r, -kPi / 2, 0);
      cairo_arc(cairo_, box.right() - r, box.bottom() - r, r, 0, kPi / 2);
      cairo_arc(cairo_, box.x + r, box.bottom() - r, r, kPi / 2, kPi);
      cairo_arc(cairo_, box.x + r, box.y + r, r, kPi, 3 * kPi / 2);
      cairo_close_path(cairo_);
    }
    cairo_fill(cairo_);
  }

  void dot(Place at, double radius, Color color) override {
    set_color(color);
    cairo_new_path(cairo_);
    cairo_arc(cairo_, at.x, at.y, radius, 0, 2 * kPi);
    cairo_fill(cairo_);
  }

  void image(const Box& box, const uint8_t* pixels, int width, int height) override {
    cairo_surface_t* picture = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    if (unsigned char* const to = cairo_image_surface_get_data(picture)) {
      const int stride = cairo_image_surface_get_stride(picture);
      for (int y = 0; y < height; ++y) {
        auto* row = reinterpret_cast<uint32_t*>(to + static_cast<size_t>(y) * static_cast<size_t>(stride));
        for (int x = 0; x < width; ++x, pixels += 3)
          row[x] = uint32_t{pixels[0]} << 16 | uint32_t{pixels[1]} << 8 | pixels[2];
      }
      cairo_surface_mark_dirty(picture);
      cairo_save(cairo_);
      cairo_translate(cairo_, box.x, box.y);
      cairo_scale(cairo_, box.width / width, box.height / height);
      cairo_set_source_surface(cairo_, picture, 0, 0);
      const bool enlarged = box.width >= 2 * width;
      cairo_pattern_set_filter(cairo_get_source(cairo_), enlarged ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
      cairo_pattern_set_extend(cairo_get_source(cairo_), CAIRO_EXTEND_PAD);
      cairo_rectangle(cairo_, 0, 0, width, height);
      cairo_fill(cairo_);
      cairo_restore(cairo_);
    }
    cairo_surface_destroy(picture);
  }

  void clip(const Box& box) override {
    cairo_save(cairo_);
    cairo_rectangle(cairo_, box.x, box.y, box.width, box.height);
    cairo_clip(cairo_);
  }
  void unclip() override { cairo_restore(cairo_); }

  std::string finish(std::string* error) override {
    cairo_status_t status = cairo_status(cairo_);
    if (format_ == Format::kPng && status == CAIRO_STATUS_SUCCESS)
      status = cairo_surface_write_to_png_stream(surface_, append_bytes, &file_);
    cairo_surface_finish(surface_);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface_);
    if (status == CAIRO_STATUS_SUCCESS) return std::move(file_);
    *error = cairo_status_to_string(status);
    return {};
  }

 private:
  void set_color(Color c) { cairo_set_source_rgba(cairo_, c.red, c.green, c.blue, c.alpha); }

  void lay_out(const std::string& text, const TextStyle& style) {
    PangoFontDescription* font = pango_font_description_new();
    pango_font_description_set_family(font, kFonts);
    pango_font_description_set_absolute_size(font, style.size * PANGO_SCALE);
    pango_font_description_set_weight(font, style.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(layout_, font);
    pango_font_description_free(font);
    char* const valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));  // Pango warns of others
    pango_layout_set_text(layout_, valid, -1);
    g_free(valid);
    pango_layout_set_single_paragraph_mode(layout_, TRUE);
    pango_layout_set_ellipsize(layout_, style.most_width > 0 ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_NONE);
    pango_layout_set_width(layout_, -1);
    if (style.most_width <= 0) return;
    int width = 0, height = 0;
    pango_layout_get_size(layout_, &width, &height);
    if (pango_units_to_double(width) > style.most_width)
      pango_layout_set_width(layout_, pango_units_from_double(style.most_width));
  }

  Format format_;
  std::string file_;
  cairo_surface_t* surface_;
  cairo_t* cairo_;
  PangoLayout* layout_;
};

}  // namespace
}  // namespace tenon::pictures

extern "C" {
__attribute__((visibility("default"))) unsigned tenon_canvas_version() { return kCanvasVersion; }
__attribute__((visibility("default"))) tenon::pictures::Canvas* tenon_canvas_new(tenon::pictures::Format format,
                                                                                 double width, double height,
                                                                                 double scale) {
  auto* canvas = new (std::nothrow) tenon::pictures::CairoCanvas(format, width, height, scale);
  if (canvas && canvas->ok()) return canvas;
  delete canvas;
  return nullptr;
}
}
