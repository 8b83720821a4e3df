#!/bin/sh
# Converts Fashion-MNIST, trains the model `fashion` on it and says how well it does on the test images.
#   share/quickstart.sh TENON OUTPUT STEPS BATCH
# IMAGES names another directory of gzip'd IDX files.
set -eu

tenon=$1 output=$2 steps=$3 batch=$4
images=${IMAGES:-/usr/share/datasets/fashion-mnist}
[ -d "$images" ] || {
  echo "quickstart: no $images; run: share/install_packages.sh data" >&2
  exit 1
}

rm -rf "$output"
mkdir -p "$output"
"$tenon" convert idx --input "$images" --output "$output/data"
"$tenon" train fashion --data_dir "$output/data" --model_dir "$output/model" \
  --train_steps "$steps" --train_batch_size "$batch"

# Measured again from the checkpoint, as a user of the trained model would.
result=$("$tenon" evaluate fashion --data_dir "$output/data" --model_dir "$output/model" --json | tail -n 1)
accuracy=$(printf '%s\n' "$result" | sed -n 's/.*"accuracy": *\([0-9.]*\).*/\1/p')
[ -n "$accuracy" ] || {
  echo "quickstart: no accuracy in the result of evaluate: $result" >&2
  exit 1
}

cat <<END

What to try next:
  apps/models/fashion.cc    the model; change a layer, then: make quickstart
  $tenon devices            what this machine can train on
  $tenon train --help       the other models and every flag
  $tenon inspect --help     look into records, checkpoints and graphs
  make check                run the tests

END
LC_ALL=C printf 'test accuracy %.4f\n' "$accuracy"
