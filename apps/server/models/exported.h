// Directories that `tenon export` wrote, as models of a server.
#pragma once

#include <string>

#include "server/served_model.h"

namespace tenon::server {

// Loads ExportedModels onto `device`, with batches of up to `max_rows` compiled ahead: of 1, 2, 4 and so on.
ModelLoader exported_model_loader(const std::string& device, int64_t max_rows);

}  // namespace tenon::server
