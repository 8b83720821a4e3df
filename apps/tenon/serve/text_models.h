// Models of text that a server answers with.
#pragma once

#include <memory>
#include <string>

#include "server/text/text_model.h"

namespace tenon::runner {

// Of directories that `tenon train transformer`, as `tenon translate` and `tenon summarize` use it, and `tenon train gpt` made. Throws
// Error.
std::unique_ptr<server::TextModel> translation_model(const std::string& model_dir, const std::string& device,
                                                     bool summarizes);
std::unique_ptr<server::TextModel> generation_model(const std::string& model_dir, const std::string& device);

}  // namespace tenon::runner
