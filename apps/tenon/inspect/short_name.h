// Names of nodes and values, "decoder/layer_4/self_attention/query/dot_bias_act", in columns that may be too narrow for
// them.
#pragma once

#include <string>

namespace tenon::runner {

// The name, or what of it fits into so many columns, 3 at least: its last component whole, and of the others all but
// one gap, which is as short as can be: "decoder/layer_4/../dot_bias_act", "../dot_bias_act". Where not even the last
// component fits, its last words behind "..".
std::string short_name(const std::string& name, size_t width);

}  // namespace tenon::runner
