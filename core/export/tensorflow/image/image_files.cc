#include "export/tensorflow/image/image_files.h"

#include "base/strings.h"
#include "export/tensorflow/image/image_nodes.h"
#include "export/tensorflow/image/pixel_readers.h"

namespace tenon::tensorflow {
namespace {

constexpr const char* kCondition = "tenon_images_remain";
constexpr const char* kBody = "tenon_decode_image";

Ref mixed(ImageNodes& n, const Ref& batch, const Ref& size, bool half_pixel) {
  return n.nodes().add(
      "ResizeBilinear", {batch, size},
      {type_field("T", DT_FLOAT), flag_field("align_corners", false), flag_field("half_pixel_centers", half_pixel)},
      "resized_images");
}

// As tf.image.resize(antialias=True).
Ref smoothed(ImageNodes& n, const Ref& batch, const Ref& size) {
  const Ref from = n.part(n.shape_of(batch, DT_FLOAT), 1, 3);
  const Ref scale = n.binary("RealDiv", n.cast(size, DT_INT32, DT_FLOAT), n.cast(from, DT_INT32, DT_FLOAT));
  return n.nodes().add(
      "ScaleAndTranslate", {batch, size, scale, n.vector({0, 0})},
      {type_field("T", DT_FLOAT), text_field("kernel_type", "triangle"), flag_field("antialias", true)},
      "resized_images");
}

Ref resized(ImageNodes& n, const Ref& pixels, const ExportedImages& images) {
  const Ref batch = n.nodes().add("ExpandDims", {pixels, n.nodes().whole(0)},
                                  {type_field("T", DT_FLOAT), type_field("Tdim", DT_INT32)});
  const Ref size = n.nodes().ints({images.height, images.width});
  const Ref y = images.resize == ResizeKind::kAntialias
                    ? smoothed(n, batch, size)
                    : mixed(n, batch, size, images.resize == ResizeKind::kHalfPixel);
  return n.reshape(y, DT_FLOAT, n.nodes().ints({images.height, images.width, images.channels}));
}

Ref in_range(ImageNodes& n, const Ref& x, PixelRange range) {
  const Ref unit = n.binary("RealDiv", x, n.number(255));
  return range == PixelRange::kZeroToOne ? unit : n.binary("Mul", n.binary("Sub", unit, n.number(0.5)), n.number(2));
}

// The state of the loop: which file is next, how many there are, the files, the images.
const std::vector<FunctionArgument>& state() {
  static const std::vector<FunctionArgument> arguments = {
      {"i", DT_INT32}, {"count", DT_INT32}, {"files", DT_STRING}, {"images", DT_VARIANT}};
  return arguments;
}

void add_condition(FunctionDefLibrary& library) {
  FunctionDef& function = add_function(library, kCondition, state(), {{"remain", DT_BOOL}});
  NodeWriter nodes(function.mutable_node_def(), true);
  (*function.mutable_ret())["remain"] = ImageNodes(nodes).binary("Less", "i", "count", DT_INT32);
}

void add_body(FunctionDefLibrary& library, const ExportedImages& images) {
  FunctionDef& function =
      add_function(library, kBody, state(),
                   {{"next", DT_INT32}, {"count_out", DT_INT32}, {"files_out", DT_STRING}, {"images_out", DT_VARIANT}});
  NodeWriter nodes(function.mutable_node_def(), true);
  ImageNodes n(nodes);
  const Ref file = n.gather("files", DT_STRING, "i", 0);
  const Ref image = in_range(n, resized(n, read_pixels(nodes, file, images), images), images.range);
  auto& ret = *function.mutable_ret();
  ret["images_out"] = nodes.add(
      "TensorListSetItem", {"images", "i", image},
      {type_field("element_dtype", DT_FLOAT), flag_field("resize_if_index_out_of_bounds", false)}, "output_handle");
  ret["next"] = n.binary("AddV2", "i", nodes.whole(1), DT_INT32);
  ret["count_out"] = "count";
  ret["files_out"] = "files";
}

// The loop over the files; its last state is the list of images.
Ref loop(NodeWriter& nodes, const std::vector<Ref>& begin) {
  Field types{"T", {}}, shapes{"output_shapes", {}};
  for (const FunctionArgument& argument : state()) types.second.mutable_list()->add_type(argument.type);
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {}, {-1}, {}})
    *shapes.second.mutable_list()->add_shape() = shape_proto(dims);
  const Ref first =
      nodes.add("StatelessWhile", begin,
                {std::move(types), function_field("cond", kCondition), function_field("body", kBody), std::move(shapes),
                 number_field("parallel_iterations", 10), flag_field("_lower_using_switch_merge", true)});
  return nodes.result(first, 3, "");
}

}  // namespace

Ref decoded_images(NodeWriter& nodes, FunctionDefLibrary& library, const Ref& files, const ExportedImages& images) {
  if (images.alpha == Alpha::kBlend && images.channels == 1)
    fail(
        "TensorFlow's graph: transparent images on a background of one channel are not decoded as here, expected 3 "
        "channels");
  if (library.function_size() == 0) {
    add_readers(library, images);
    add_condition(library);
    add_body(library, images);
  }
  ImageNodes n(nodes);
  const Ref dims = nodes.ints({images.height, images.width, images.channels});
  const Ref count = n.reshape(n.shape_of(files, DT_STRING), DT_INT32, nodes.ints({}));
  const Ref list = nodes.add("TensorListReserve", {dims, count},
                             {type_field("element_dtype", DT_FLOAT), type_field("shape_type", DT_INT32)});
  return nodes.add("TensorListStack", {loop(nodes, {nodes.whole(0), count, files, list}), dims},
                   {type_field("element_dtype", DT_FLOAT), number_field("num_elements", -1)});
}

}  // namespace tenon::tensorflow
