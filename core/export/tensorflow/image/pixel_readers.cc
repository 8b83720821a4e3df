#include "export/tensorflow/image/pixel_readers.h"

#include "export/tensorflow/image/image_nodes.h"

namespace tenon::tensorflow {
namespace {

constexpr const char* kReadWebp = "tenon_read_webp";
constexpr const char* kReadOther = "tenon_read_jpeg_or_png";

// Channels that the readers give; 0: those of the file.
int read_channels(const ExportedImages& images) { return images.alpha == Alpha::kDrop ? images.channels : 0; }

FunctionDef& add_reader(FunctionDefLibrary& library, const char* name) {
  return add_function(library, name, {{"file", DT_STRING}}, {{"pixels", DT_UINT8}});
}

// DecodeImage would have libjpeg's fast transform, which is less exact.
void add_other_reader(FunctionDefLibrary& library, int channels) {
  FunctionDef& function = add_reader(library, kReadOther);
  NodeWriter nodes(function.mutable_node_def(), true);
  (*function.mutable_ret())["pixels"] =
      nodes.add("DecodeJpeg", {"file"},
                {number_field("channels", channels), number_field("ratio", 1), flag_field("fancy_upscaling", true),
                 flag_field("try_recover_truncated", false), real_field("acceptable_fraction", 1),
                 text_field("dct_method", "INTEGER_ACCURATE")},
                "image");
}

// Luma in whole numbers.
Ref gray(ImageNodes& n, const Ref& colours) {
  const Ref weighted = n.binary("Mul", n.cast(colours, DT_UINT8, DT_INT32), n.nodes().ints({299, 587, 114}), DT_INT32);
  const Ref sum =
      n.nodes().add("Sum", {weighted, n.nodes().ints({2})},
                    {flag_field("keep_dims", true), type_field("T", DT_INT32), type_field("Tidx", DT_INT32)});
  const Ref rounded = n.binary("AddV2", sum, n.nodes().whole(500), DT_INT32);
  return n.cast(n.binary("TruncateDiv", rounded, n.nodes().whole(1000), DT_INT32), DT_INT32, DT_UINT8);
}

// Its decoder gives frames, of which there has to be one, and has no choice of channels.
void add_webp_reader(FunctionDefLibrary& library, int channels) {
  FunctionDef& function = add_reader(library, kReadWebp);
  NodeWriter nodes(function.mutable_node_def(), true);
  ImageNodes n(nodes);
  const Ref frames = nodes.add(
      "DecodeImage", {"file"},
      {number_field("channels", 0), type_field("dtype", DT_UINT8), flag_field("expand_animations", true)}, "image");
  Ref pixels = n.reshape(frames, DT_UINT8, n.part(n.shape_of(frames, DT_UINT8), -3, 0));
  if (channels > 0) pixels = n.gather(pixels, DT_UINT8, nodes.ints({0, 1, 2}), 2);
  if (channels == 1) pixels = gray(n, pixels);
  (*function.mutable_ret())["pixels"] = pixels;
}

Field types(const char* name, DataType type) {
  Field field{name, {}};
  field.second.mutable_list()->add_type(type);
  return field;
}

Ref decoded(NodeWriter& nodes, const Ref& file) {
  const Ref begin = nodes.add("Substr", {file, nodes.whole(0), nodes.whole(4)},
                              {type_field("T", DT_INT32), text_field("unit", "BYTE")});
  const Ref is_webp = nodes.add("Equal", {begin, nodes.constant(string_scalar("RIFF"))},
                                {type_field("T", DT_STRING), flag_field("incompatible_shape_error", true)}, "z");
  Field shapes{"output_shapes", {}};
  shapes.second.mutable_list()->add_shape()->set_unknown_rank(true);
  return nodes.add("StatelessIf", {is_webp, file},
                   {type_field("Tcond", DT_BOOL), types("Tin", DT_STRING), types("Tout", DT_UINT8),
                    function_field("then_branch", kReadWebp), function_field("else_branch", kReadOther),
                    std::move(shapes), flag_field("_lower_using_switch_merge", true)});
}

// [height, width, 4] of pixels with 1 to 4 channels: an opaque channel comes behind theirs, and four are picked of all.
Ref coloured_with_alpha(ImageNodes& n, const Ref& x) {
  const Ref shape = n.shape_of(x, DT_FLOAT);
  const Ref plane = n.concat(n.part(shape, 0, 2), n.nodes().ints({1}), DT_INT32, 0);
  const Ref opaque =
      n.nodes().add("Fill", {plane, n.number(255)}, {type_field("T", DT_FLOAT), type_field("index_type", DT_INT32)});
  const Ref table =
      n.reshape(n.nodes().ints({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 2, 3, 0, 1, 2, 3}), DT_INT32, n.nodes().ints({4, 4}));
  const Ref kind = n.binary("Sub", n.part(shape, 2, 3), n.nodes().ints({1}), DT_INT32);
  const Ref picked = n.reshape(n.gather(table, DT_INT32, kind, 0), DT_INT32, n.nodes().ints({4}));
  return n.gather(n.concat(x, opaque, DT_FLOAT, 2), DT_FLOAT, picked, 2);
}

// Mixed in whole numbers.
Ref on_background(ImageNodes& n, const Ref& x, const Colour& background) {
  const Ref colours = n.gather(x, DT_FLOAT, n.nodes().ints({0, 1, 2}), 2);
  const Ref alpha = n.gather(x, DT_FLOAT, n.nodes().ints({3}), 2);
  const Ref behind =
      n.binary("Mul", n.binary("Sub", n.number(255), alpha), n.vector({background.begin(), background.end()}));
  const Ref sum = n.binary("AddV2", n.binary("AddV2", n.binary("Mul", colours, alpha), behind), n.number(127));
  return n.nodes().add("Floor", {n.binary("RealDiv", sum, n.number(255))}, {type_field("T", DT_FLOAT)}, "y");
}

}  // namespace

void add_readers(FunctionDefLibrary& library, const ExportedImages& images) {
  add_webp_reader(library, read_channels(images));
  add_other_reader(library, read_channels(images));
}

Ref read_pixels(NodeWriter& nodes, const Ref& file, const ExportedImages& images) {
  ImageNodes n(nodes);
  const Ref pixels = n.cast(decoded(nodes, file), DT_UINT8, DT_FLOAT);
  if (images.alpha == Alpha::kDrop) return pixels;
  const Ref with_alpha = coloured_with_alpha(n, pixels);
  return images.alpha == Alpha::kKeep ? with_alpha : on_background(n, with_alpha, images.background);
}

}  // namespace tenon::tensorflow
