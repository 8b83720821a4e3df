// Files of images in TensorFlow's graph: each is decoded and resized by itself, as core/data/image does it, in a loop over them.
#pragma once

#include "export/tensorflow/graph_def.h"
#include "tenon/export.h"

namespace tenon::tensorflow {

// f32[n, height, width, channels] of string[n]. Adds the loop's functions to the library. Throws Error for what TensorFlow's ops
// do not do.
Ref decoded_images(NodeWriter& nodes, FunctionDefLibrary& library, const Ref& files, const ExportedImages& images);

}  // namespace tenon::tensorflow
