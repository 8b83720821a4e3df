// What is done to images.
#include <tuple>

#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

constexpr const char* kMethods[] = {"nearest", "bilinear"};
constexpr const char* kCoordinates[] = {"legacy", "half pixel", "align corners"};
constexpr const char* kFills[] = {"constant", "nearest", "reflect", "wrap"};

void add_resizes(Cases& cases, DType t) {
  for (const auto& [from, h, w] : {std::tuple<Shape, int64_t, int64_t>{{2, 5, 7, 3}, 10, 4},
                                   {{1, 1, 1, 1}, 3, 2},
                                   {{2, 6, 4, 8}, 3, 8},
                                   {{1, 5, 5, 2}, 1, 1},
                                   {{1, 4, 3, 2}, 4, 3}})
    for (int method = 0; method < 2; ++method)
      for (int coords = 0; coords < 3; ++coords) {
        const std::string name =
            cat(name_of({t, from}), " to ", h, "x", w, " ", kMethods[method], " ", kCoordinates[coords]);
        add_op(cases, {"resize", name, {uniform(t, from, 1)}, [=, h = h, w = w](const Tensors& x) {
                         return Tensors{
                             resize(x[0], h, w, static_cast<ResizeMethod>(method), static_cast<Coordinates>(coords))};
                       }});
      }
}

void add_affines(Cases& cases, DType t) {
  // Turned, sheared and moved by steps that f32 holds, so that no pixel lies on an edge by rounding alone.
  const Input theta = values(DType::kF32, {2, 8},
                             {0.9375, -0.21875, 1.34375, 0.21875, 0.9375, -2.15625, 0, 0, 1.28125, 0, -3.28125, 0.125,
                              0.78125, 0.40625, 0.0078125, 0});
  const Input x = uniform(t, {2, 7, 9, 3}, 1, t == DType::kU8 ? 0 : -100, 100);
  for (int method = 0; method < 2; ++method)
    for (int fill = 0; fill < 4 && !(t == DType::kBool && method == 1); ++fill)
      add_op(cases, {"affine_image",
                     cat(name_of(x), " ", kMethods[method], " ", kFills[fill]),
                     {x, theta},
                     [=](const Tensors& in) {
                       return Tensors{affine_image(in[0], in[1], 6, 8, static_cast<ResizeMethod>(method),
                                                   static_cast<FillMode>(fill))};
                     }});
}

void add_crops(Cases& cases, DType t) {
  for (DType i : {DType::kI32, DType::kI64}) {
    const Input x = uniform(t, {5, 7, 9, 3}, 1, 0, 100), flip = uniform(DType::kBool, {5}, 4, -1, 1);
    const auto add = [&](const std::string& what, const Input& top, const Input& left) {
      add_op(cases,
             {"crop_flip", cat(name_of(x), " by ", dtype_name(i), what), {x, top, left, flip}, [](const Tensors& in) {
                return Tensors{crop_flip(in[0], in[1], in[2], in[3], 4, 5)};
              }});
    };
    add(" some outside", uniform(i, {5}, 2, -2, 5), uniform(i, {5}, 3, -2, 6));
    if (t == DType::kF32 || t == DType::kU8)
      add(" far outside", values(i, {5}, {2147483647, 0, -2147483648.0, 3, 7}),
          values(i, {5}, {0, -9, 2147483647, 4, 9}));
  }
}

}  // namespace

void add_image_cases(Cases& cases) {
  for (DType t : kFloats) add_resizes(cases, t);
  for (DType t : kAll) add_affines(cases, t);
  for (DType t : kAll) add_crops(cases, t);
}

}  // namespace tenon::corpus
