// The functions that models are built of, ops, layers, losses, metrics, optimizers, schedules and initializers, with one
// argument after another wrong: no graph, another dtype, a size that is none, NaN. An error of one line each time; never a
// signal, never a model of nonsense. As they are, the arguments are taken.
//   16_public_arguments [unprotected]     unprotected: a layer that believes what it is given; its sets must be noticed
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "public_functions.h"

namespace tenon::public_arguments {
namespace {

struct Counts {
  uint64_t functions = 0, sets = 0, wrong = 0;
};

// What came of one call: empty for what it should be.
std::string problem_of(const Function& f, Arguments& arguments, bool bad) {
  try {
    f.call(arguments);
  } catch (const Error& error) {
    const std::string text = error.what();
    if (!bad) return "is refused: " + text;
    if (text.empty() || text.find('\n') != std::string::npos) return "is refused in no line: '" + text + "'";
    return text.find(' ') == std::string::npos ? "is refused in no words: " + text : "";
  } catch (const std::exception& error) {
    return std::string("throws, but no tenon::Error: ") + error.what();
  }
  return bad ? "is taken" : "";
}

// In a child, so that one that ends the process costs one set.
bool try_one(const Function& f, int slot, int which) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit memory{uint64_t{4} << 30, uint64_t{4} << 30}, cpu{20, 25}, none{0, 0};
    setrlimit(RLIMIT_AS, &memory), setrlimit(RLIMIT_CPU, &cpu), setrlimit(RLIMIT_CORE, &none);
    Arguments arguments(slot, which);
    const std::string problem = problem_of(f, arguments, slot >= 0);
    if (!problem.empty())
      std::fprintf(stderr, "%s with %s: %s\n", f.name, slot < 0 ? "good arguments" : arguments.changed().c_str(),
                   problem.c_str());
    std::fflush(nullptr);
    std::_Exit(!problem.empty());
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status))
    std::fprintf(stderr, "%s, argument %d, wrong in way %d: signal %d\n", f.name, slot, which, WTERMSIG(status));
  return status == 0;
}

void try_function(const Function& f, Counts& counts) {
  ++counts.functions;
  if (!try_one(f, -1, 0)) {
    ++counts.wrong;
    return;
  }
  Arguments counted(-1, 0);
  f.call(counted);
  for (int slot = 0; slot < static_cast<int>(counted.ways().size()); ++slot)
    for (int which = 0; which < counted.ways()[static_cast<size_t>(slot)]; ++which, ++counts.sets)
      counts.wrong += !try_one(f, slot, which);
}

// The control: a function that looks at nothing.
const std::vector<Function>& believing_functions() {
  static const std::vector<Function> all = {{"a layer that believes", [](Arguments& a) {
                                               (void)a.floats({2, 3});
                                               (void)a.size(4);
                                               (void)a.rate(0.5);
                                             }}};
  return all;
}

}  // namespace
}  // namespace tenon::public_arguments

int main(int argc, char**) {
  using namespace tenon::public_arguments;
  Counts counts;
  const bool control = argc > 1;
  for (const auto* part :
       {&op_functions(), &layer_functions(), &sequence_functions(), &image_functions(), &loss_functions(),
        &metric_functions(), &optimizer_functions(), &callback_functions(), &training_functions()})
    for (const Function& f : *part)
      if (!control) try_function(f, counts);
  for (const Function& f : believing_functions())
    if (control) try_function(f, counts);
  std::printf("%llu functions, %llu sets with one argument wrong: %llu not refused in one line\n",
              static_cast<unsigned long long>(counts.functions), static_cast<unsigned long long>(counts.sets),
              static_cast<unsigned long long>(counts.wrong));
  return counts.wrong != 0;
}
