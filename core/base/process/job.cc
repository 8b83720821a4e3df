#include "base/process/job.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "tenon/processes.h"

namespace tenon {
namespace {

// Variables that launchers set in the processes that they start, and in no others.
struct Launcher {
  const char *name, *rank, *count;
};
constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI
    {"mpiexec", "PMI_RANK", "PMI_SIZE"},                         // MPICH, Intel MPI; srun --mpi=pmi2
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

std::optional<int> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text) return {};
  const std::string_view all(text);
  int value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  return error == std::errc() && end == all.data() + all.size() ? std::optional(value) : std::nullopt;
}

Job read_job() {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> rank = number_of(launcher.rank), count = number_of(launcher.count);
    if (rank && count && *count > 1 && *rank >= 0 && *rank < *count) return {*rank, *count, launcher.name};
  }
  return {};
}

}  // namespace

const Job& job() {
  static const Job read = read_job();
  return read;
}

namespace {

std::atomic<bool (*)(bool)> ask_first{nullptr};
std::atomic<Status (*)(const std::function<Status()>&)> let_first{nullptr};

}  // namespace

bool as_first_says(bool value) {
  const auto ask = ask_first.load();
  return ask ? ask(value) : value;
}

Status as_first_does(const std::function<Status()>& work) {
  const auto let = let_first.load();
  return let ? let(work) : work();
}

bool processes_have_met() { return let_first.load() != nullptr; }

void set_meeting(Meeting meeting) {
  ask_first = meeting.first_says;
  let_first = meeting.first_does;
}

int process_rank() { return job().rank; }
int process_count() { return job().count; }

}  // namespace tenon
