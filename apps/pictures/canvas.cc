#include "pictures/canvas.h"

#include <dlfcn.h>

#include <filesystem>

#include "tenon/status.h"

namespace tenon::pictures {
namespace {

[[noreturn]] void no_library(const std::string& why) {
  throw Error(Status(Code::kUnavailable,
                     "pictures need lib/tenon/pictures/cairo.so, which the package tenon-pictures brings, and a "
                     "build makes where libpango1.0-dev and libcairo2-dev are installed: " +
                         why));
}

// Beside the program, and nowhere else: what may write there may write the program.
tenon_canvas_new_fn* load_library() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (program.parent_path().parent_path() / "lib/tenon/pictures/cairo.so").string();
  void* const library = error ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) no_library(error ? error.message() : ::dlerror());
  const auto version = reinterpret_cast<tenon_canvas_version_fn*>(::dlsym(library, "tenon_canvas_version"));
  const auto make = reinterpret_cast<tenon_canvas_new_fn*>(::dlsym(library, "tenon_canvas_new"));
  if (!version || !make || version() != kCanvasVersion) no_library(path + " is of another version of Tenon");
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
