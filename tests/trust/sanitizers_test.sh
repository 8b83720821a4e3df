#!/bin/bash
# What `sanitizers` says of a small project with faults planted: those that fail their tests, and one in a child of which the
# test sees nothing.
#   sanitizers_test.sh CMAKE CXX
set -u
cmake=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$(dirname "$cmake"):$PATH
mkdir -p "$work/tests/trust"
cp "$(dirname "$0")/sanitizers" "$work/tests/trust/"
failures=0
complain() {
  echo "FAILED: $*: $(cat "$work/out")"
  failures=$((failures + 1))
}

cat >"$work/program.cc" <<'END'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
int shared = 0;
void* add(void*) { return shared += 1, nullptr; }
int run(char what) {
  volatile int size = 4;
  if (what == 'o') return (new char[size])[size];
  if (what == 'r') {
    pthread_t thread;
    pthread_create(&thread, nullptr, add, nullptr), add(nullptr), pthread_join(thread, nullptr);
  }
  return what == 's' ? 77 : 0;
}
int main(int, char** arguments) {
  if (arguments[1][1] == 0) return run(arguments[1][0]);
  if (const pid_t child = fork()) return waitpid(child, nullptr, 0) == child ? 0 : 1;
  return run(arguments[1][1]);
}
END
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(small CXX)
enable_testing()
if(NOT SANITIZE)
  add_test(NAME more_1 COMMAND nobody)
  add_test(NAME more_2 COMMAND nobody)
  return()
endif()
add_compile_options(-g1 -fsanitize=${SANITIZE})
add_link_options(-fsanitize=${SANITIZE} -pthread)
add_executable(program program.cc)
foreach(what n s o r xo xr)  # nothing, is skipped, overflow, race; both in a child
  add_test(NAME does_${what} COMMAND program ${what})
  set_tests_properties(does_${what} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME waits COMMAND tail -f /dev/null)
END
preset() { printf '{"name": "%s", "generator": "Ninja", "binaryDir": "%s", "cacheVariables": {"CMAKE_CXX_COMPILER": "%s", "SANITIZE": "%s"}}' "$@"; }
printf '{"version": 4, "configurePresets": [%s, %s]}' "$(preset asan "$work/build/asan" "$compiler" address)" \
  "$(preset tsan "$work/build/tsan" "$compiler" thread)" >"$work/CMakePresets.json"

expect() {  # CODE PATTERN ARGUMENT..
  local code=$1 pattern=$2
  shift 2
  "$work/tests/trust/sanitizers" "$@" >"$work/out" 2>&1
  local found=$?
  [ "$found" -eq "$code" ] || complain "sanitizers $*: exit code $found, expected $code"
  grep -qE -e "$pattern" "$work/out" || complain "sanitizers $*: expected '$pattern'"
}
expect 0 '^asan: 3 of 3 tests pass, 0 fail, 0 skipped, 0 reports; built in [0-9]+ s, tested in [0-9]+ s$' --tests '_x?[nr]$' --seconds 600 address
expect 0 '^tsan: 2 of 2 tests pass, 0 fail, 0 skipped, 0 reports; ' --tests '_[no]$' thread
expect 0 '^asan: 0 of 1 tests pass, 0 fail, 1 skipped, 0 reports; ' --tests _s address
expect 1 '^asan: 0 of 1 tests pass, 1 fail, 0 skipped, 1 reports; ' --tests _o address
expect 1 'SUMMARY: AddressSanitizer: heap-buffer-overflow .*program\.cc:8' --tests _xo address
expect 1 '^asan: 1 of 1 tests pass, 0 fail, 0 skipped, 1 reports; ' --tests _xo address
expect 1 'SUMMARY: ThreadSanitizer: data race .*program\.cc:5' --tests _r thread
expect 1 '^tsan: 1 of 1 tests pass, 0 fail, 0 skipped, 1 reports; ' --tests _xr thread
expect 1 '^asan: 4 of 6 tests pass, 1 fail, 1 skipped, 2 reports' --tests does
grep -qE '^tsan: 4 of 6 tests pass, 1 fail, 1 skipped, 2 reports' "$work/out" || complain 'expected a line of both'
expect 77 '^asan: (0 of 1 tests pass, 0 fail, 0 skipped, 0 reports; .*, UNFINISHED$|not built in time)' --tests waits --seconds 3 address
expect 1 '^asan: does not build' --targets nothing address
expect 2 "no test of asan has such a name$" --tests nothing address
expect 2 "'memory': expected address or thread$" memory
expect 2 "seconds '0': expected a whole number" --seconds 0
"$cmake" -S "$work" -B "$work/build/release" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" >"$work/out" 2>&1 || complain 'no release build'
expect 0 '^asan: 1 of 1 tests pass, .*, 2 left out: more_1 more_2$' --tests '_n|more' address
[ "$failures" -eq 0 ] && echo "all as expected"
