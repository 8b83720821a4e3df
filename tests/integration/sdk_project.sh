#!/bin/sh
# A vendor's first afternoon, with the installed SDK and nothing else: the template, the complete example, pkg-config, the
# reference in a test of their own.
#   sdk_project.sh part|whole CMAKE BUILD SOURCE CXX flags=FLAGS [CMAKE FLAGS..]
# A part leaves out the ops of the example, which is the one that conform_example tests, and two of three planted faults.
set -eu
extent=$1 cmake=$2 build=$3 source=$4 cxx=$5 flags=${6#flags=}
shift 6

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
unset TENON_PLUGIN_PATH
cd "$work"

fail() {
  echo "sdk_project: $*" >&2
  exit 1
}
step() {
  name=$1
  shift
  "$@" >"$work/log" 2>&1 && return
  echo "sdk_project: $name failed:" >&2
  tail -n 60 "$work/log" >&2
  exit 1
}
# make_project DIR: configured without a hint of where the SDK is, unless there are further arguments.
make_project() {
  dir=$1
  shift
  step "configure $dir" "$cmake" -S "$dir" -B "$dir/build" "$@"
  step "compile $dir" "$cmake" --build "$dir/build"
}
# refused TEXT ARGUMENTS..: new-backend says so in one line, and makes nothing.
refused() {
  expected=$1
  shift
  "$prefix/bin/tenon-new-backend" "$@" >"$work/log" 2>&1 && fail "new-backend $*: was not refused"
  [ "$(wc -l <"$work/log")" -eq 1 ] || fail "new-backend $*: expected one line, found $(cat "$work/log")"
  case $(cat "$work/log") in
    "tenon-new-backend: "*"$expected"*) ;;
    *) fail "new-backend $*: expected '$expected', found $(cat "$work/log")" ;;
  esac
}

step install "$cmake" --install "$build" --prefix "$prefix" --component sdk
! grep -rl -e "$source" -e "$build" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" "$prefix/include" "$prefix/share" ||
  fail "the files above name the source or build tree"
[ ! -e "$prefix/bin/tenon" ] && [ ! -e "$prefix/lib/libtenon.a" ] || fail "the SDK brings parts of the core"
docs=$prefix/share/doc/tenon-sdk
for doc in README op-specification backend-author abi-reference abi-stability validation plugin-interfaces; do
  [ -s "$docs/$doc.md" ] || fail "$docs/$doc.md: missing"
done
[ "$("$prefix/bin/tenon-conform" ops | grep -c '^## ')" -eq "$(grep -c '^## ' "$docs/op-specification.md")" ] ||
  fail "tenon-conform ops and op-specification.md have not the same ops"
"$prefix/bin/tenon-conform" ops conv_bias_act | grep -q '^| 2  | bias     | f32 bf16 f16 f64, may be absent |$' ||
  fail "tenon-conform ops conv_bias_act: found $("$prefix/bin/tenon-conform" ops conv_bias_act)"
"$prefix/bin/tenon-conform" ops convv 2>"$work/log" && fail "tenon-conform ops convv: was not refused"
grep -q "^tenon-conform: ops: no op is called 'convv'" "$work/log" || fail "tenon-conform ops convv: $(cat "$work/log")"
# What they link to is there, and so are the files that they name.
for link in $(grep -oh '](\([a-zA-Z0-9_./-]*\.md\)' "$docs"/*.md | sed 's/^](//' | sort -u); do
  [ -e "$docs/$link" ] || fail "a link of the documents leads nowhere: $link"
done
for path in $(grep -oh '\(include\|share\|lib\|bin\)/tenon[a-zA-Z0-9_./-]*' "$docs/README.md" "$docs/backend-author.md" |
  sed 's/[.:]$//' | sort -u); do
  [ -e "$prefix/$path" ] || fail "the documents name $path, which is not installed"
done

# ---- the template ----
mkdir full && touch full/file
for name in '' Mine 9lives -x 'a b' a/b ../x a.so auto test kernels cpu tpu-emulator opencl-gpu; do refused name "$name" project; done
refused 64 "$(printf 'a%.0s' $(seq 64))" project
refused empty mine full
refused file mine full/file
refused 'NAME DIR' mine
[ ! -e project ] || fail "a refused project was made"
refused 'comes with Tenon' cpu project

# What it prints next is what a shell can run, in whatever directory.
odd="it's a \"dir\" of \$HOME"
step "new-backend in '$odd'" "$prefix/bin/tenon-new-backend" odd "$odd"
sed -n 's/^  tenon-conform /printf %s /p' log >next
[ "$(sh next)" = "$odd/build/odd.so" ] || fail "new-backend in '$odd': printed $(cat log)"
sed -n 's/^  cmake -S \(.*\) -B .*/printf %s \1/p' log >next
[ "$(sh next)" = "$odd" ] || fail "new-backend in '$odd': printed $(cat log)"

step new-backend "$prefix/bin/tenon-new-backend" my-device project
[ "$(sed -n '$p' log)" = "  tenon-conform project/build/my-device.so" ] || fail "new-backend: printed $(cat log)"
guide=$(grep -o 'share/doc/tenon-sdk/[a-z-]*\.md' project/README.md | head -n 1)
[ -n "$guide" ] && [ -s "$prefix/$guide" ] || fail "the template's README names no guide that is there: '$guide'"
make_project project "$@"
step "ctest of the template" "${cmake%cmake}ctest" --test-dir project/build -V
grep -q '100% tests passed.* out of 1$' log || fail "ctest of the template: found $(tail -n 5 log)"
step "conformance of the template" "$prefix/bin/tenon-conform" project/build/my-device.so
grep -q '^level 0: 0 of ' log || fail "the template: expected level 0, found $(tail -n 1 log)"
# What it lists as missing is what the suite misses.
for op in $(sed -n 's/^  for level [123]: //p' log | sed 's/([^)]*)//g; s/,//g'); do
  grep -q "//.*\\b$op\\b" project/kernels.cc || fail "the template does not list $op as missing"
done
for op in add mul dot; do grep -Eq "^op/$op .* pass" log || fail "the template's $op has no passing test"; done

# ---- the template on the bare ABI ----
step "new-backend --abi" "$prefix/bin/tenon-new-backend" --abi my-device bare
[ "$(sed -n 1p log)" = "wrote bare: CMakeLists.txt my-device.c program.c queue.c backend.h README.md" ] ||
  fail "new-backend --abi: printed $(cat log)"
refused 'NAME DIR' --abi mine
guide=$(grep -o 'share/doc/tenon-sdk/[a-z-]*\.md' bare/README.md | head -n 1)
[ -s "$prefix/$guide" ] || fail "the README of --abi names no guide that is there: '$guide'"
make_project bare -DCMAKE_C_FLAGS="-Wall -Wextra -Werror -pedantic $flags" "$@"
step "conformance of the bare ABI" "$prefix/bin/tenon-conform" bare/build/my-device.so --validate
grep -q '^level 0: 0 of ' log || fail "the template on the bare ABI: expected level 0, found $(tail -n 1 log)"
for group in op/add op/dot feed/batches feed/runs; do
  grep -Eq "^$group .* pass" log || fail "the template on the bare ABI: $group has no passing test"
done

# Faults of a feed of depth 2, which the suite is to see: other backends have no place for them.
# planted TEST FROM TO: queue.c with TO in the place of FROM fails the test.
planted() {
  rm -rf planted
  mkdir planted
  cp bare/CMakeLists.txt bare/*.c bare/*.h planted
  awk -v from="$2" -v to="$3" '
    { at = index($0, from); if (at) { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); ++n } print }
    END { exit n != 1 }' bare/queue.c >planted/queue.c || fail "queue.c of the template has not once '$2'"
  make_project planted -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$flags"
  "$prefix/bin/tenon-conform" planted/build/my-device.so --filter "$1" >log 2>&1 && fail "'$3' in queue.c: $1 passes"
  grep -q FAIL log || fail "'$3' in queue.c: $1: found $(tail -n 1 log)"
}
planted '^feed/batches/' 'pulled - released == kFeedDepth' 'pulled - released == kFeedDepth + 1'
if [ "$extent" = whole ]; then
  planted '^feed/bad batches/' 'wrong_input(q, r, feeds, inputs) >= 0' 'wrong_input(q, r, feeds, inputs) > 77'
  planted '^queue/failure/reaches a batch' 'ticket && queue_wait(q, ticket, UINT64_MAX).code == TENON_OK' 'ticket != 0'
fi

# ---- the complete example ----
cp -r "$prefix/share/tenon/example" example
make_project example -DCMAKE_PREFIX_PATH="$prefix" "$@"
if [ "$extent" = whole ]; then
  step "conformance of the example" "$prefix/bin/tenon-conform" example/build/example.so --level 3
  grep -q '^level 3: 0 of ' log || fail "the example: expected level 3, found $(tail -n 1 log)"
else
  step "conformance of the example" "$prefix/bin/tenon-conform" example/build/example.so \
    --filter '^(load|device|memory|queue|feed|program|training/mlp)/'
fi
tail -n 1 log

# ---- the example that compiles graphs ----
cp -r "$prefix/share/tenon/example-compiler" compiler
make_project compiler -DCMAKE_PREFIX_PATH="$prefix" "$@"
step "conformance of the compiler" "$prefix/bin/tenon-conform" compiler/build/example-compiler.so --filter '^(load|training/mlp)/'

# ---- pkg-config ----
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  export PKG_CONFIG_PATH
  mkdir plain && mv "$prefix" moved  # it says where it is now
  PKG_CONFIG_PATH=$work/moved/lib/pkgconfig
  # shellcheck disable=SC2046,SC2086
  step "compile by pkg-config" "$cxx" -std=c++17 -O1 $flags -shared $(pkg-config --cflags tenon-sdk) -o plain/my-device.so \
    project/my-device.cc project/kernels.cc $(pkg-config --libs tenon-sdk)
  step "conformance of it" moved/bin/tenon-conform plain/my-device.so --filter '^(load|op/dot)/'
  prefix=$work/moved
fi

# ---- a test of one's own, on the reference ----
mkdir own
cat >own/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(own LANGUAGES CXX)
find_package(TenonSDK REQUIRED)
add_executable(own own.cc)
target_link_libraries(own PRIVATE Tenon::sdk_reference)
END
cat >own/own.cc <<'END'
#include "conformance/reference/reference.h"
#include "tenon/plugin/graph_builder.h"

int main() {
  tenon::plugin::GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {3}, TENON_ROLE_FEED), y = b.value(TENON_F32, {3});
  b.node("neg", {x}, {y});
  b.result(y);
  const tenon::plugin::FlatGraph graph = b.build();
  std::vector<tenon::reference::Tensor> results;
  const tenon::reference::Tensor in{TENON_F32, {3}, {1, -2, 3}, {}};
  const std::string wrong = tenon::reference::evaluate_graph(*graph.graph(), {in}, tenon::reference::Rounding::kDtype, results);
  return wrong.empty() && results[0].f == std::vector<double>{-1, 2, -3} ? 0 : 1;
}
END
make_project own -DCMAKE_PREFIX_PATH="$prefix" "$@"
step "a test on the reference" own/build/own
