// Names of optimizers' slots that more than one part of the core has to know.
#pragma once

#include <string_view>

namespace tenon {

// SGD: m = mu m - lr g, as Keras keeps it.
inline constexpr std::string_view kKerasMomentum = "Momentum";
// Momentum(): a = mu a + g, which TensorFlow 1's files call "Momentum".
inline constexpr std::string_view kTF1Momentum = "MomentumOptimizer";

}  // namespace tenon
