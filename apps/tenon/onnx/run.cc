// tenon run: a model of an ONNX file on inputs, its outputs held against those that it should have.
#include <algorithm>
#include <filesystem>

#include "command.h"
#include "model/model_flags.h"
#include "onnx/test_case.h"
#include "process.h"

namespace tenon::runner {
namespace {

namespace fs = std::filesystem;

void declare_run(Flags& flags, const std::vector<std::string>&) {
  flags.leave_out({"seed"});
  flags.text("data", "",
             "directory of input_0.pb, output_0.pb, .., or of several such, test_data_set_0, ..; none: the file's");
  flags.text("tests", "", "directory of directories that have a model.onnx and such data: all of them, a line each");
  flags.text("precision", "highest", "of products and convolutions", {"default", "high", "highest"});
  flags.number("rtol", 1e-3, "relative error that an output may have");
  flags.number("atol", 1e-7, "absolute error that it may have beside");
}

MathPrecision precision_of(const Flags& flags) {
  const std::string& name = flags.text("precision");
  return name == "default" ? MathPrecision::kDefault : name == "high" ? MathPrecision::kHigh : MathPrecision::kHighest;
}

OnnxModel opened(const std::string& path, const Flags& flags) {
  return import_onnx(path, {.precision = precision_of(flags), .modes_of_file = true}).take();
}

Tolerance tolerance_of(const Flags& flags) { return {flags.number("rtol"), flags.number("atol")}; }

// All data sets of one model.
Comparison run_all(const OnnxModel& model, const std::string& data, const Flags& flags) {
  Comparison all;
  for (const TestData& set : test_data(data)) {
    const Comparison one = run_case(model, set, device_of(flags), tolerance_of(flags));
    all.max_error = std::max(all.max_error, one.max_error);
    if (all.passed && !one.passed) all.message = one.message;
    all.passed &= one.passed;
  }
  return all;
}

struct Counts {
  int64_t passed = 0, failed = 0, unsupported = 0;
};

void run_test(const std::string& directory, const Flags& flags, Counts& counts) {
  std::string status = "passed", message;
  double error = 0;
  try {
    const OnnxModel model = opened(directory + "/model.onnx", flags);
    const Comparison found = run_all(model, directory, flags);
    error = found.max_error;
    if (!found.passed) status = "failed", message = found.message;
  } catch (const Error& e) {
    status = "unsupported", message = e.status().message();
  }
  ++(status == "passed" ? counts.passed : status == "failed" ? counts.failed : counts.unsupported);
  const std::string name = fs::path(directory).filename().string();
  if (flags.boolean("json")) {
    Json line("test");
    line.add("name", name).add("status", status).add("max_error", error);
    if (!message.empty()) line.add("message", message);
    print_line(line.str());
  } else if (status != "passed" || flags.boolean("verbose")) {
    print_line(status + " " + name + (message.empty() ? "" : ": " + message));
  }
}

int run_tests(const Flags& flags) {
  std::vector<std::string> directories;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(flags.text("tests"), error))
    if (fs::exists(entry.path() / "model.onnx")) directories.push_back(entry.path().string());
  if (directories.empty())
    throw UsageError{format("--tests: '%s' has no directory with a model.onnx", flags.text("tests").c_str())};
  std::sort(directories.begin(), directories.end());
  Counts counts;
  for (const std::string& directory : directories) {
    if (interrupted()) throw Error(Status(Code::kInterrupted, "interrupted"));
    run_test(directory, flags, counts);
  }
  const auto tried = static_cast<int64_t>(directories.size());
  if (flags.boolean("json"))
    print_line(Json("result")
                   .add("tried", tried)
                   .add("passed", counts.passed)
                   .add("failed", counts.failed)
                   .add("unsupported", counts.unsupported)
                   .str());
  else
    print_line(format("%ld tests: %ld passed, %ld failed, %ld unsupported", static_cast<long>(tried),
                      static_cast<long>(counts.passed), static_cast<long>(counts.failed),
                      static_cast<long>(counts.unsupported)));
  return counts.failed == 0 ? 0 : 1;
}

int run_run(const Flags& flags, const std::vector<std::string>& words) {
  watch_interrupts();
  if (!flags.text("tests").empty()) {
    expect_words(words, 0, 0, "--tests and no file");
    return run_tests(flags);
  }
  expect_words(words, 1, 1, "one FILE.onnx");
  expect_no_weights(words[0]);
  const OnnxModel model = opened(words[0], flags);
  std::string data = flags.text("data");
  if (data.empty()) {
    data = fs::path(words[0]).parent_path().string();
    if (!fs::exists(fs::path(data) / "output_0.pb") && !fs::is_directory(fs::path(data) / "test_data_set_0"))
      throw UsageError{
          "--data is missing, and no data lie beside the file: a directory with input_0.pb, .. and output_0.pb, .., "
          "or with such directories test_data_set_0, .."};
  }
  const Comparison found = run_all(model, data.empty() ? "." : data, flags);
  if (flags.boolean("json")) {
    Json line("result");
    line.add("passed", found.passed).add("max_error", found.max_error);
    if (!found.message.empty()) line.add("message", found.message);
    print_line(line.str());
  } else {
    print_line(format("%s, max error %.3g", found.passed ? "passed" : "failed", found.max_error) +
               (found.message.empty() ? "" : ": " + found.message));
  }
  return found.passed ? 0 : 1;
}

}  // namespace

const Command kRun{
    .name = "run",
    .arguments = "FILE.onnx [--data DIR] [FLAGS]",
    .summary = "Runs an ONNX model on inputs and compares its outputs with those that it should have",
    .declare = declare_run,
    .run = run_run,
};

}  // namespace tenon::runner
