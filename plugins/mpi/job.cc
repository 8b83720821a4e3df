#include "job.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

namespace tenon::mpi {
namespace {

using plugin::Error;

// What launchers leave in the environment. The first that is there is the innermost: mpirun inside of a Slurm step.
constexpr const char* kCounts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
constexpr const char* kOthers[] = {"PMIX_RANK", "PMI_RANK", "PALS_RANKID", "ALPS_APP_PE"};

// How many processes the launcher says it started; 0: there is none, 1 also where it does not say.
long launched() {
  for (const char* name : kCounts)
    if (const char* value = std::getenv(name)) return std::max(1L, std::strtol(value, nullptr, 10));
  for (const char* name : kOthers)
    if (std::getenv(name)) return 1;
  return 0;
}

// "Open MPI v4.1.4", "MPICH Version: 4.0.2": the start of what may be many lines.
std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string line(text, static_cast<size_t>(length));
  line.resize(std::min(line.find_first_of(",\n"), line.size()));
  for (char& c : line)
    if (c == '\t') c = ' ';
  return line;
}

// Open MPI's own parts take its symbols from the global scope, and whoever loaded this library may have kept them out of it.
void show_symbols() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

// Containers may forbid one process to read another's memory; Open MPI finds out only in the middle of a message.
bool may_read_processes() {
  char from = 1, to = 0;
  const iovec local{&to, 1}, remote{&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 || (errno != EPERM && errno != ENOSYS);
}

// Where there is less, as by ulimit -v, Open MPI crashes or waits for ever.
void expect_memory() {
  constexpr size_t kBytes = 256 << 20;
  void* const some = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (some == MAP_FAILED)
    throw Error(TENON_OUT_OF_MEMORY, "no 256 MiB of address space are left to begin MPI with (ulimit -v)");
  munmap(some, kBytes);
}

// Defaults of Open MPI that do not suit a library inside of somebody's program; what the user set stays.
void set_defaults() {
  setenv("OMPI_MCA_opal_signal", "", 0);                      // no handlers of SIGSEGV and its like
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);          // no daemon beside a process without mpirun
  setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);                // backends are tried in a child
  setenv("OMPI_MCA_btl_base_warn_component_unused", "0", 0);  // no network card is no news
  if (!may_read_processes()) setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
}

// Signals are the program's: handlers that MPI sets meanwhile are taken back, for UCX, which some are built on, asks for
// nearly all; and threads that it makes are born with all signals blocked.
class SignalsKept {
 public:
  SignalsKept() {
    for (size_t i = 0; i < handlers_.size(); ++i) known_[i] = sigaction(number(i), nullptr, &handlers_[i]) == 0;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_);
  }
  ~SignalsKept() {
    for (size_t i = 0; i < handlers_.size(); ++i)
      if (known_[i]) sigaction(number(i), &handlers_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  static int number(size_t i) { return static_cast<int>(i) + 1; }

  sigset_t mask_;
  std::array<struct sigaction, _NSIG - 1> handlers_;
  std::array<bool, _NSIG - 1> known_;
};

volatile sig_atomic_t exit_code = 1;

// The launcher's daemon may be what is gone: then MPI_Abort waits for it, and this process ends by itself.
void end_soon(int code) {
  constexpr unsigned kSeconds = 3;
  exit_code = code;
  signal(SIGALRM, [](int) { _exit(exit_code); });
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  alarm(kSeconds);
}

}  // namespace

void check(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  const std::string words(text, static_cast<size_t>(length));
  throw Error(TENON_DEVICE_LOST, what + ": " + words.substr(0, words.find('\n')), code);
}

Job::Job() : library_(library_version()) {
  const long started = launched();
  if (!started) throw Error(TENON_UNAVAILABLE, "no launcher such as mpirun or srun started this process");
  begin();
  try {
    place();
    if (count_ == 1 && started > 1)
      throw Error(TENON_UNSUPPORTED,
                  "the launcher started " + std::to_string(started) + " processes, and " + library_ +
                      " is told of one: expected its own mpirun, or srun with an --mpi that it knows");
    gather_hosts();
  } catch (...) {
    leave();
    throw;
  }
}

void Job::begin() {
  int done = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&done);
  if (done) {
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE)
      throw Error(TENON_UNSUPPORTED, "the program began MPI for one thread: expected MPI_THREAD_MULTIPLE, or not to");
    return;
  }
  expect_memory();
  set_defaults();
  show_symbols();
  const SignalsKept kept;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (code != MPI_SUCCESS) throw Error(TENON_UNAVAILABLE, library_ + " cannot begin", code);
  ours_ = true;
  if (provided < MPI_THREAD_FUNNELED) {
    leave();
    throw Error(TENON_UNSUPPORTED, library_ + " was built for programs without threads");
  }
}

// A communicator of its own: no message of the program's, and no error that ends it.
void Job::place() {
  if (ours_) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  int rank = 0, count = 0;
  check(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &count), "MPI_Comm_size");
  rank_ = static_cast<uint32_t>(rank);
  count_ = static_cast<uint32_t>(count);
}

void Job::gather_hosts() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  hosts_.resize(size_t{count_} * sizeof name);
  check(MPI_Allgather(name, sizeof name, MPI_CHAR, hosts_.data(), sizeof name, MPI_CHAR, comm_), "MPI_Allgather");
}

void Job::abort(int code) const {
  end_soon(code);
  MPI_Abort(comm_, code);
  _exit(code);
}

void Job::leave() {
  int over = 0;  // by the program, which began MPI itself
  MPI_Finalized(&over);
  if (!over && comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (ours_) MPI_Finalize();
  ours_ = false;
}

}  // namespace tenon::mpi
