// The parts of `tenon inspect`, each printing text or JSON and returning the exit code.
#pragma once

#include "command.h"
#include "tenon/step_plan.h"

namespace tenon::runner {

int inspect_records(const Flags& flags, const std::vector<std::string>& files);
int inspect_checkpoint(const Flags& flags, const std::string& path);
int inspect_weights(const Flags& flags, const std::string& path);
int inspect_onnx(const Flags& flags, const std::string& path);
int inspect_ops(const Flags& flags, const std::vector<std::string>& names);

// What a plan is of, and how it is shown.
struct PlanTitle {
  std::string model, mode;
  int64_t batch;
  bool buffers, verbose, json;
};
void print_plan(const StepPlan& plan, const PlanTitle& title);
std::string plan_json(const StepPlan& plan, const PlanTitle& title);

}  // namespace tenon::runner
