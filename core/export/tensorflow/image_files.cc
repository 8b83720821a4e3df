#include "export/tensorflow/image_files.h"

#include "base/text.h"

namespace tenon::tensorflow {
namespace {

constexpr const char* kCondition = "tenon_images_remain";
constexpr const char* kBody = "tenon_decode_image";

Field f32() { return type_field("T", DT_FLOAT); }
Field i32() { return type_field("T", DT_INT32); }

// Writes what one file becomes.
class ImageBody {
 public:
  ImageBody(NodeWriter& nodes, const ExportedImages& images) : nodes_(nodes), images_(images) {}

  Ref run(const Ref& file) {
    const Ref pixels = images_.alpha == Alpha::kDrop ? to_f32(decoded(file, images_.channels)) : with_alpha(file);
    return in_range(resized(pixels));
  }

 private:
  Ref number(double value) { return nodes_.scalar(DType::kF32, value); }
  Ref binary(const char* op, const Ref& a, const Ref& b) { return nodes_.add(op, {a, b}, {f32()}, "z"); }

  // Reads PNG too. DecodeImage would have libjpeg's fast transform, which is less exact.
  Ref decoded(const Ref& file, int channels) {
    return nodes_.add("DecodeJpeg", {file},
                      {number_field("channels", channels), number_field("ratio", 1),
                       flag_field("fancy_upscaling", true), flag_field("try_recover_truncated", false),
                       real_field("acceptable_fraction", 1), text_field("dct_method", "INTEGER_ACCURATE")},
                      "image");
  }

  Ref to_f32(const Ref& x) {
    return nodes_.add("Cast", {x},
                      {type_field("SrcT", DT_UINT8), type_field("DstT", DT_FLOAT), flag_field("Truncate", false)}, "y");
  }

  Ref shape_of(const Ref& x) { return nodes_.add("Shape", {x}, {f32(), type_field("out_type", DT_INT32)}); }

  Ref part(const Ref& list, int64_t begin, int64_t end) {
    return nodes_.add(
        "StridedSlice", {list, nodes_.ints({begin}), nodes_.ints({end}), nodes_.ints({1})},
        {i32(), type_field("Index", DT_INT32), number_field("begin_mask", 0), number_field("end_mask", 0),
         number_field("ellipsis_mask", 0), number_field("new_axis_mask", 0), number_field("shrink_axis_mask", 0)});
  }

  Ref concat(const Ref& a, const Ref& b, DataType type, int64_t axis) {
    return nodes_.add("ConcatV2", {a, b, nodes_.whole(axis)},
                      {number_field("N", 2), type_field("T", type), type_field("Tidx", DT_INT32)});
  }

  Ref gather(const Ref& x, DataType type, const Ref& indices, int64_t axis) {
    return nodes_.add("GatherV2", {x, indices, nodes_.whole(axis)},
                      {type_field("Tparams", type), type_field("Tindices", DT_INT32), type_field("Taxis", DT_INT32),
                       number_field("batch_dims", 0)});
  }

  // [height, width, 4] of files with 1 to 4 channels: an opaque channel comes behind theirs, and four are picked of all.
  Ref coloured_with_alpha(const Ref& file) {
    const Ref x = to_f32(decoded(file, 0));
    const Ref shape = shape_of(x);
    const Ref plane = concat(part(shape, 0, 2), nodes_.ints({1}), DT_INT32, 0);
    const Ref opaque = nodes_.add("Fill", {plane, number(255)}, {f32(), type_field("index_type", DT_INT32)});
    const Ref table =
        nodes_.add("Reshape", {nodes_.ints({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 2, 3, 0, 1, 2, 3}), nodes_.ints({4, 4})},
                   {i32(), type_field("Tshape", DT_INT32)});
    const Ref kind = nodes_.add("Sub", {part(shape, 2, 3), nodes_.ints({1})}, {i32()}, "z");
    const Ref picked = nodes_.add("Reshape", {gather(table, DT_INT32, kind, 0), nodes_.ints({4})},
                                  {i32(), type_field("Tshape", DT_INT32)});
    return gather(concat(x, opaque, DT_FLOAT, 2), DT_FLOAT, picked, 2);
  }

  Ref with_alpha(const Ref& file) {
    const Ref x = coloured_with_alpha(file);
    if (images_.alpha == Alpha::kKeep) return x;
    const Ref colours = gather(x, DT_FLOAT, nodes_.ints({0, 1, 2}), 2),
              alpha = gather(x, DT_FLOAT, nodes_.ints({3}), 2);
    std::vector<float> background(images_.background.begin(), images_.background.end());
    const std::string bytes(reinterpret_cast<const char*>(background.data()), background.size() * sizeof(float));
    const Ref behind =
        binary("Mul", binary("Sub", number(255), alpha), nodes_.constant(tensor_proto(DType::kF32, {3}, bytes)));
    const Ref sum = binary("AddV2", binary("AddV2", binary("Mul", colours, alpha), behind), number(127));
    return nodes_.add("Floor", {binary("RealDiv", sum, number(255))}, {f32()}, "y");  // as integers are mixed
  }

  Ref resized(const Ref& pixels) {
    const Ref batch = nodes_.add("ExpandDims", {pixels, nodes_.whole(0)}, {f32(), type_field("Tdim", DT_INT32)});
    const Ref size = nodes_.ints({images_.height, images_.width});
    const Ref y = images_.resize == ResizeKind::kAntialias ? smoothed(batch, pixels, size) : mixed(batch, size);
    return nodes_.add("Reshape", {y, nodes_.ints({images_.height, images_.width, images_.channels})},
                      {f32(), type_field("Tshape", DT_INT32)});
  }

  Ref mixed(const Ref& batch, const Ref& size) {
    return nodes_.add("ResizeBilinear", {batch, size},
                      {f32(), flag_field("align_corners", false),
                       flag_field("half_pixel_centers", images_.resize == ResizeKind::kHalfPixel)},
                      "resized_images");
  }

  // As tf.image.resize(antialias=True).
  Ref smoothed(const Ref& batch, const Ref& pixels, const Ref& size) {
    const auto to_float = [&](const Ref& x) {
      return nodes_.add("Cast", {x},
                        {type_field("SrcT", DT_INT32), type_field("DstT", DT_FLOAT), flag_field("Truncate", false)},
                        "y");
    };
    const Ref scale = binary("RealDiv", to_float(size), to_float(part(shape_of(pixels), 0, 2)));
    const Ref still = nodes_.constant(tensor_proto(DType::kF32, {2}, std::string(2 * sizeof(float), '\0')));
    return nodes_.add("ScaleAndTranslate", {batch, size, scale, still},
                      {f32(), text_field("kernel_type", "triangle"), flag_field("antialias", true)}, "resized_images");
  }

  Ref in_range(const Ref& x) {
    const Ref unit = binary("RealDiv", x, number(255));
    if (images_.range == PixelRange::kZeroToOne) return unit;
    return binary("Mul", binary("Sub", unit, number(0.5)), number(2));
  }

  NodeWriter& nodes_;
  const ExportedImages& images_;
};

void add_argument(google::protobuf::RepeatedPtrField<OpDef::ArgDef>& to, const char* name, DataType type) {
  OpDef::ArgDef& argument = *to.Add();
  argument.set_name(name);
  argument.set_type(type);
}

// The state of the loop: which file is next, how many there are, the files, the images.
FunctionDef& add_function(FunctionDefLibrary& library, const char* name) {
  FunctionDef& function = *library.add_function();
  function.mutable_signature()->set_name(name);
  auto& in = *function.mutable_signature()->mutable_input_arg();
  add_argument(in, "i", DT_INT32);
  add_argument(in, "count", DT_INT32);
  add_argument(in, "files", DT_STRING);
  add_argument(in, "images", DT_VARIANT);
  return function;
}

void add_condition(FunctionDefLibrary& library) {
  FunctionDef& function = add_function(library, kCondition);
  add_argument(*function.mutable_signature()->mutable_output_arg(), "remain", DT_BOOL);
  NodeWriter nodes(function.mutable_node_def(), true);
  (*function.mutable_ret())["remain"] = nodes.add("Less", {"i", "count"}, {i32()}, "z");
}

void add_body(FunctionDefLibrary& library, const ExportedImages& images) {
  FunctionDef& function = add_function(library, kBody);
  auto& out = *function.mutable_signature()->mutable_output_arg();
  add_argument(out, "next", DT_INT32);
  add_argument(out, "count_out", DT_INT32);
  add_argument(out, "files_out", DT_STRING);
  add_argument(out, "images_out", DT_VARIANT);
  NodeWriter nodes(function.mutable_node_def(), true);
  const Ref file = nodes.add("GatherV2", {"files", "i", nodes.whole(0)},
                             {type_field("Tparams", DT_STRING), type_field("Tindices", DT_INT32),
                              type_field("Taxis", DT_INT32), number_field("batch_dims", 0)});
  const Ref image = ImageBody(nodes, images).run(file);
  auto& ret = *function.mutable_ret();
  ret["images_out"] = nodes.add(
      "TensorListSetItem", {"images", "i", image},
      {type_field("element_dtype", DT_FLOAT), flag_field("resize_if_index_out_of_bounds", false)}, "output_handle");
  ret["next"] = nodes.add("AddV2", {"i", nodes.whole(1)}, {i32()}, "z");
  ret["count_out"] = "count";
  ret["files_out"] = "files";
}

Field types_field(std::string name, const std::vector<DataType>& types) {
  Field field{std::move(name), {}};
  for (const DataType type : types) field.second.mutable_list()->add_type(type);
  return field;
}

}  // namespace

Ref decoded_images(NodeWriter& nodes, FunctionDefLibrary& library, const Ref& files, const ExportedImages& images) {
  if (images.alpha == Alpha::kBlend && images.channels == 1)
    fail(
        "TensorFlow's graph: transparent images on a background of one channel are not decoded as here, expected 3 "
        "channels");
  add_condition(library);
  add_body(library, images);
  const std::vector<int64_t> shape = {images.height, images.width, images.channels};
  const Ref dims = nodes.ints(shape), first = nodes.whole(0);
  const Ref size = nodes.add("Shape", {files}, {type_field("T", DT_STRING), type_field("out_type", DT_INT32)});
  const Ref count = nodes.add("StridedSlice", {size, nodes.ints({0}), nodes.ints({1}), nodes.ints({1})},
                              {i32(), type_field("Index", DT_INT32), number_field("shrink_axis_mask", 1)});
  const Ref list = nodes.add("TensorListReserve", {dims, count},
                             {type_field("element_dtype", DT_FLOAT), type_field("shape_type", DT_INT32)});
  Field shapes{"output_shapes", {}};
  for (const std::vector<int64_t>& dim : {std::vector<int64_t>{}, {}, {-1}, {}})
    *shapes.second.mutable_list()->add_shape() = shape_proto(dim);
  const Ref loop = nodes.add("StatelessWhile", {first, count, files, list},
                             {types_field("T", {DT_INT32, DT_INT32, DT_STRING, DT_VARIANT}),
                              function_field("cond", kCondition), function_field("body", kBody), std::move(shapes),
                              number_field("parallel_iterations", 10), flag_field("_lower_using_switch_merge", true)});
  return nodes.add("TensorListStack", {nodes.result(loop, 3, ""), dims},
                   {type_field("element_dtype", DT_FLOAT), number_field("num_elements", -1)});
}

}  // namespace tenon::tensorflow
