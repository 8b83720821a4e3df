// The part of Muon that is no AdamW.
#pragma once

#include "tenon/optimizers.h"

namespace tenon {

// Throws Error where an option of its own has no meaning.
void check_muon(const MuonOptions& options);
// Whether the variable is one that it makes orthogonal steps of.
bool takes_muon(const MuonOptions& options, const Update& update);
void update_by_muon(const MuonOptions& options, Update& update);

}  // namespace tenon
