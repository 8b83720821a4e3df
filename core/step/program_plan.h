// A program that is only looked at: what the device says of it, in the names of the traced function. Nothing is allocated.
#pragma once

#include <string>

#include "compile/compile.h"
#include "step/trace.h"
#include "tenon/predicted_step.h"

namespace tenon {

struct ProgramPlan {
  Trace traced;
  Status refused;        // why the device does not take it; ok where it does
  PlannedMemory memory;  // where it takes it, or has too little
  PredictedStep step;    // where it takes it
  std::string warnings;  // lines of the compiler
};

// REQUIRED: the device predicts. What it says of the program is no error; what went wrong otherwise is.
Result<ProgramPlan> plan_program(Trace traced, const std::shared_ptr<Device>& device, const ProgramOptions& options);

// What the device says of the memory that a program takes.
PlannedMemory planned_memory(const Executable& executable);

// What the device predicts for a step of a program, with the names of its kernels and of layers that are padded. REQUIRED:
// the device predicts.
Result<PredictedStep> predicted_step(const Executable& executable);

}  // namespace tenon
