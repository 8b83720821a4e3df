// What all commands share that write models for what serves them.
#pragma once

#include "flags.h"
#include "tenon/export.h"

namespace tenon::runner {

void add_export_flags(Flags& flags);  // output, format, frozen, version, keep
// Those that they say; the others are `of`'s. Throws UsageError where they exclude each other.
ExportOptions export_options(const Flags& flags, ExportOptions of = {});

}  // namespace tenon::runner
