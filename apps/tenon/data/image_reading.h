// How images become what a model sees: flags, what a model directory remembers of them, and what is kept of decoded images.
#pragma once

#include <map>
#include <string>

#include "data/model_data.h"

namespace tenon::runner {

void add_image_reading_flags(Flags& flags);
void add_image_cache_flags(Flags& flags);  // of what trains

// What the flags say, else the model directory, as members of InputOptions: resize, alpha, background, channels (4, or what it was),
// scale_decode, deep_pixels; and cache. Throws UsageError for flags that contradict the directory, and for those that do nothing;
// Error for a directory that says what there is not.
InputOptions image_reading(const DataContext& c);

// What the model directory is to remember: what differs from the defaults.
std::map<std::string, std::string> reading_words(const InputOptions& o);

}  // namespace tenon::runner
