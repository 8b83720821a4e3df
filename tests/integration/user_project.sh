#!/bin/sh
# What is installed, as a user has it: a project of one's own outside the tree, by find_package and by pkg-config alone; the
# sources of models and examples; documents whose links lead somewhere.
#   user_project.sh CMAKE BUILD PROJECT CXX FLAGS [CMAKE FLAGS..]
set -eu
cmake=$1 build=$2 project=$3 cxx=$4 flags=$5
shift 5

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "user_project: $*" >&2
  exit 1
}
step() {
  name=$1
  shift
  "$@" >"$work/log" 2>&1 && return
  echo "user_project: $name failed:" >&2
  cat "$work/log" >&2
  exit 1
}

# `make install` builds what is installed, not the tests.
built=$(make -s -C "$project/../../.." -n PACKAGES=no install | sed -n 's/^cmake --build .*--target //p')
[ "$built" = "core/all sdk/all plugins/all apps/tenon/all" ] || fail "make install builds '$built'"
step install "$cmake" --install "$build" --prefix "$work/prefix"
cp -r "$project" "$work/project"
step configure "$cmake" -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" "$@"
step compile "$cmake" --build "$work/build"

# This prefix is not the one that the build was configured for: the package says where its backends are.
unset TENON_PLUGIN_PATH
cd "$work"
step train "$work/build/my_model" "$work/model"
cat "$work/log"
# What goes wrong is said.
if "$work/build/my_model" /dev/null/model >/dev/null 2>"$work/log" || ! grep -q '^my_model: .*/dev/null' "$work/log"; then
  fail "expected an error naming /dev/null, found: $(cat "$work/log")"
fi

# pkg-config alone.
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find prefix -name tenon.pc)")
  export PKG_CONFIG_PATH="$work/$PKG_CONFIG_PATH"
  # shellcheck disable=SC2046,SC2086
  step "compile by pkg-config" "$cxx" -std=c++20 $flags project/main.cc -o plain $(pkg-config --cflags --libs tenon)
  step "train what pkg-config built" ./plain model_of_plain
fi

# Documents: each link of theirs, and each file of the models' and examples' that they name.
docs=prefix/share/doc/tenon
for doc in "$docs"/*.md prefix/share/doc/tenon-sdk/*.md; do
  ! grep -n '<!--' "$doc" || fail "$doc: comments of the documents' tests"
  for link in $(grep -v '^ \|^const\|^  ' "$doc" | grep -o '\](\([a-zA-Z0-9_./-]*\))' | sed 's/^](//; s/)$//' | sort -u); do
    [ -e "$(dirname "$doc")/$link" ] || fail "$doc: a link leads nowhere: $link"
  done
done
for path in $(grep -oh '\bapps/[a-z_/]*\.\(cc\|h\)' "$docs"/*.md | sort -u); do
  [ -e "$docs/$path" ] || fail "the documents name $path, which is not installed"
done

# The sources of models and examples are a project, too.
step "configure apps" "$cmake" -S "$docs/apps" -B apps -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_UNITY_BUILD=ON "$@" \
  -DCMAKE_BUILD_TYPE=
step "compile apps" "$cmake" --build apps --target tenon_models example_toy_keras
step "run an example" apps/examples/toy_keras --device cpu --json
