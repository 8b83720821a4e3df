// The kinds of pictures of `tenon plot`.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "output.h"
#include "pictures/drawn.h"
#include "tenon/atomic_file.h"

namespace tenon::runner {

// A kind draws from its words to --output, and tells what it did.
int plot_curves(const Flags& flags, const std::vector<std::string>& runs);
int plot_epochs(const Flags& flags, const std::vector<std::string>& runs);
int plot_confusion(const Flags& flags, const std::vector<std::string>& files);
int plot_wrong(const Flags& flags, const std::vector<std::string>& files);

// By the end of --output's name, before anything is read. Throws UsageError.
pictures::Format picture_format(const Flags& flags);

// The file is there whole or not at all. A size of 0 is the picture's own. Throws Error.
template <class Picture>
void write_picture(const Flags& flags, const Picture& picture, pictures::Extent size = {}) {
  const std::string bytes = pictures::drawn(picture, picture_format(flags), flags.number("scale"), size);
  AtomicFile file = AtomicFile::create_or_write(flags.text("output")).take();
  check(file.write(bytes));
  check(file.commit());
}

}  // namespace tenon::runner
