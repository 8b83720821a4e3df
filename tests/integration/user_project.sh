#!/bin/sh
# A user's own project, outside the tree, against an installed Tenon: install, find_package, build, train.
#   user_project.sh CMAKE BUILD PROJECT [CMAKE FLAGS..]
set -eu
cmake=$1 build=$2 project=$3
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() {
  name=$1
  shift
  "$@" >"$work/log" 2>&1 && return
  echo "user_project: $name failed:" >&2
  cat "$work/log" >&2
  exit 1
}

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
  echo "user_project: expected an error naming /dev/null, found: $(cat "$work/log")" >&2
  exit 1
fi
