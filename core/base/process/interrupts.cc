#include "tenon/interrupts.h"

#include <atomic>

namespace tenon {
namespace {

std::atomic<int> noted{0};  // a signal's number
std::atomic<int> watches{0};
static_assert(std::atomic<int>::is_always_lock_free);  // handlers may use no other

void act(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

bool has_handler(int number, void (*handler)(int)) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == handler;
}

void note(int number) {
  int none = 0;
  noted.compare_exchange_strong(none, number);
  if (number != SIGINT && number != SIGTERM) return;
  for (const int last : {SIGINT, SIGTERM})
    if (has_handler(last, note)) act(last, SIG_DFL);
}

}  // namespace

InterruptWatch::InterruptWatch(const std::vector<int>& signals) {
  if (watches.fetch_add(1) == 0) noted = 0;
  if (noted != 0) return;  // the next one is to end the process
  for (const int number : signals)
    if (has_handler(number, SIG_DFL)) {
      taken_.push_back(number);
      act(number, note);
    }
}

InterruptWatch::~InterruptWatch() {
  for (const int number : taken_)
    if (has_handler(number, note)) act(number, SIG_DFL);
  watches.fetch_sub(1);
}

bool InterruptWatch::interrupted() { return watches > 0 && noted != 0; }
void InterruptWatch::hear(int signal) {
  int none = 0;
  noted.compare_exchange_strong(none, signal);
}
int InterruptWatch::signal() { return noted; }

}  // namespace tenon
