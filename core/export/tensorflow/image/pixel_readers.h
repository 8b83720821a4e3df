// The pixels of a file, as core/data/image decodes them.
#pragma once

#include "export/tensorflow/graph_def.h"
#include "tenon/export.h"

namespace tenon::tensorflow {

// Functions that read_pixels() calls.
void add_readers(FunctionDefLibrary& library, const ExportedImages& images);
// f32[height, width, images.channels], from 0 to 255, of a JPEG, PNG or WebP file: string[].
Ref read_pixels(NodeWriter& nodes, const Ref& file, const ExportedImages& images);

}  // namespace tenon::tensorflow
