// tenon bench fit CASE: what fit() costs beside the steps that it does.
#pragma once

#include <string>
#include <vector>

#include "flags.h"

namespace tenon::runner {

std::vector<std::string> bench_fit_names();
std::string list_of_fits();
void declare_bench_fit(Flags& flags);
int run_bench_fit(const std::string& name, const Flags& flags);

}  // namespace tenon::runner
