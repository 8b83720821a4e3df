#!/bin/bash
# Each example on a device by flag alone: it ends, and its figures are what it is for.
#   examples.sh EXAMPLES PLUGINS DEVICE [NAME..]     the directory of the programs, that of the backends; all, or those named
. "$(dirname "$0")/runner_lib.sh"
examples=$1
export TENON_PLUGIN_PATH=$2
device=$3
shift 3

# figure NAME: of the JSON line that the example printed.
figure() { sed -n 's/.*"'"$1"'": \([^,}]*\).*/\1/p' "$work/out"; }
# holds CONDITION: of figures a and b.
holds() { awk -v a="$(figure "$1")" -v b="$(figure "${2-$1}")" "BEGIN { exit !($3) }" || complain "$example on $device: $(cat "$work/out")"; }

# Images on disk for the example that reads some.
make_idx "$work/idx" 256 1
IMAGES=$work/idx "$(dirname "$0")/../../share/plant_pathology.sh" "$work/leaves" 256 >/dev/null || complain 'no images were made'

# And records of some, of four classes.
make_idx "$work/four" 256 64
expect 0 '' "$examples/../bin/tenon" convert idx --input "$work/four" --output "$work/records"

try() {
  example=$1
  own=()
  [ "$example" != plant_pathology ] ||
    own=(--data_dir "$work/leaves" --log_dir "$work/logs/$device" --image_size 16 --batch_size 8 --epochs 20 --width 0.25 --depth 0.3)
  [ "$example" != transfer ] || own=(--data_dir "$work/records" --size 8 --classes 4 --examples 32 --epochs 6)
  expect 0 '' "$examples/$example" --device "$device" --json "${own[@]}"
  case $example in
    custom_loop) holds loss loss 'a < 1e-3' ;;
    char_rnn) holds accuracy accuracy 'a > 0.5' ;;
    dynamic_shapes)
      holds loss apart 'a < 0.3 && b < 1e-5'
      holds traces static_traces 'a == 1 && b == 3'
      case $device in tpu*) holds bounded_device_ms_24x14 static_device_ms_24x14 'a > 0 && b > 0' ;; esac
      ;;
    gan) holds radius radius 'a > 0.8 && a < 1.2' ;;             # points of the unit circle
    gradient_penalty) holds distance apart 'a / b > 0.98 && a / b < 1.02' ;;
    own_layer | siamese) holds accuracy accuracy 'a > 0.95' ;;
    own_optimizer) holds loss built_in_loss 'a / b > 0.9999 && a / b < 1.0001' ;;
    plant_pathology) holds accuracy parameters 'a > 0.9 && b == 169658' ;;
    toy_estimator) holds loss global_step 'a >= 0 && a < 15 && b == 1' ;;  # weights of +-1.41, (1.41 x 2.5 + 0.3)^2
    transfer) holds tuned from_nothing 'a > 0.95 && a >= b' ;;
    toy_keras) holds loss loss 'a < 1e-8' ;;
  esac
}

"$examples/custom_loop" --device "$device" --json >/dev/null 2>"$work/err" || {
  if [ "$device" = opencl-gpu ] && grep -q 'no OpenCL' "$work/err"; then
    echo "left out: $device, $(head -n 1 "$work/err")"  # nothing to open here
    exit 77
  fi
  complain "$device: $(cat "$work/err")"
}
if [ $# -eq 0 ]; then
  for program in "$examples"/*; do set -- "$@" "$(basename "$program")"; done
fi
for name; do try "$name"; done

expect 1 'unknown flag --colour' "$examples/gan" --colour red
expect 1 'unknown flag --colour, expected --device, --seed, --json or --help' "$examples/gan" --colour red
for program in "$examples"/*; do
  expect 0 '' "$program" --help
  grep -q '^  --device NAME' "$work/out" || complain "$program --help: $(cat "$work/out")"
done
expect 1 "device 'toaster': no toaster.so" "$examples/gan" --device toaster --json
finish
