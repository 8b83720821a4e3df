#include "export/saved_model.h"

namespace tenon {

// Stands here until the writer is there.
Result<std::string> saved_model(const SavedModelContents&) {
  return Status(Code::kUnsupported, "TensorFlow's graph is not written yet");
}

}  // namespace tenon
