// Models of text that a server answers with.
#pragma once

#include <memory>
#include <string>

#include "server/text/text_model.h"

namespace tenon::runner {

// Loads directories that `tenon train transformer` made, as `tenon translate` and `tenon summarize` use it, or `tenon train gpt`. Throws
// Error.
std::unique_ptr<server::TextModel> translation_model(const std::string& model_dir, const std::string& device,
                                                     bool summarizes);
std::unique_ptr<server::TextModel> generation_model(const std::string& model_dir, const std::string& device);

}  // namespace tenon::runner
