// What follows "tpu-emulator:": MACHINE[,KEY=VALUE]...
//
//   v3-8                       the machine; default v3-8
//   v3-8,backend=opencl-gpu    the arithmetic is that of another backend; default cpu
//   v3-8,dots=f32              dots and convolutions of f32 are not rounded to bf16
#pragma once

#include <string>

namespace tpu {

struct Spec {
  std::string machine = "v3-8";
  std::string backend = "cpu";
  bool rounds = true;
};

// NULL: the default. Throws tenon::plugin::Error INVALID naming what is wrong.
Spec parse_spec(const char* text);

}  // namespace tpu
