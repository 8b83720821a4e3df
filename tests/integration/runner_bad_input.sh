#!/bin/bash
# Each mistake: the exit code, one line that names the flag or file, and what was there before is unharmed.
. "$(dirname "$0")/runner_lib.sh"
data=$work/data model=$work/model
make_idx "$work/idx" 64 32
expect 0 '' "$tenon" convert idx --input "$work/idx" --output "$data"
train=("$tenon" train mlp --hidden 16 --train_batch_size 16 --train_steps 4)
expect 0 '' "${train[@]}" --data_dir "$data" --model_dir "$model"
before=$(cd "$model" && cat -- * | cksum)

echo '# usage'
expect 2 'expected a subcommand' "$tenon"
expect 2 "did you mean 'train'?" "$tenon" trian
expect 2 'did you mean --train_steps?' "$tenon" train mlp --train-stpes 5
expect 2 "--train_steps: expected an integer of 1 or more, found 'many'" "$tenon" train mlp --train_steps many
expect 2 "--version: expected an integer from 0 to 9007199254740992, found '9223372036854775807'" \
  "$tenon" import x.onnx --output "$work/none" --version 9223372036854775807
expect 2 "--dropout: expected a number from 0 to 0.999, found '1.5'" "$tenon" train mlp --dropout=1.5
expect 2 "--optimizer: expected one of sgd" "$tenon" train mlp --optimizer best
expect 2 "--json: expected true or false, found 'maybe'" "$tenon" train mlp --json=maybe
expect 2 "--iterations_per_loop: expected an integer from 0 to 100000, found '1000000'" "$tenon" train mlp --iterations_per_loop 1000000
expect 2 '--train_steps: expected a value' "$tenon" train mlp --train_steps
expect 2 "did you mean 'mlp'?" "$tenon" train mpl
expect 2 'expected one model' "$tenon" train
expect 2 '--data_dir is missing' "$tenon" train mlp
expect 2 '--model_dir is missing' "$tenon" evaluate mlp --data_dir "$data"
expect 2 '--input is missing' "$tenon" convert idx --output "$work/x"
expect 2 "did you mean 'mlp_tiny'?" "$tenon" bench step mlp_tny
expect 2 "'8x8' has 2 sizes; expected MxKxN[xBATCH]" "$tenon" bench op dot --shapes 64x8x8,8x8
expect 2 "'8x-1x8' is no shape; expected MxKxN[xBATCH]" "$tenon" bench op dot --shapes 8x-1x8
expect 2 "'0x8' is no shape; expected ROWSxC[xRATE], each from 1 to 1,000,000,000" "$tenon" bench op dropout --shapes 0x8
expect 2 "'8x' is no shape; expected ROWSxC" "$tenon" bench op softmax --shapes 8x
expect 2 "'' is no shape; expected ROWSxC" "$tenon" bench op softmax --shapes 8x8,
expect 2 "'99999999999' is no shape; expected ELEMENTS" "$tenon" bench op adam_update --shapes 99999999999
expect 2 "'9' has 1 size; expected ROWSxVOCABxC" "$tenon" bench op gather --shapes 9
expect 2 "has 9 sizes; expected NxHxWxCxKxO[xSTRIDE[xGROUPS]]" "$tenon" bench op conv --shapes 1x8x8x6x3x6x1x2x2
expect 2 "'1x8x8x8x3x6x1x4' has 4 groups; expected a divisor of C = 8 and O = 6" "$tenon" bench op conv_grad_input --shapes 1x8x8x8x3x6x1x4
expect 2 "'8x8x100' has a rate of 100 percent; expected less than 100" "$tenon" bench op dropout --shapes 8x8x100
expect 2 "did you mean 'softmax'?" "$tenon" bench op sofmax
for huge in 'exp 1000000000x1000000000' 'batch_norm 1000000000x1000000000x1000000000x1000000000' \
  'conv 1x1x1x1x1000000000x1' 'scatter 4x1000000000x1000000' 'lstm 1x1x8x1000000000'; do
  expect 1 "--shapes: '${huge#* }' takes " "$tenon" bench op ${huge% *} --shapes "${huge#* }"
done
expect 1 'is smaller than the window 3' "$tenon" bench op max_pool_grad --shapes 1x2x2x1x3
expect 2 '--quiet and --log_step_count_steps exclude each other' "${train[@]}" --data_dir "$data" --quiet --log_step_count_steps 5
expect 2 '--use_tpu and --device cpu contradict each other' "${train[@]}" --data_dir "$data" --use_tpu --device cpu
expect 2 '--tpu v2-99 and --device cpu contradict' "${train[@]}" --data_dir "$data" --use_tpu --tpu v2-99 --device cpu
expect 2 '--tpu v2-8 and --device tpu-emulator:v3-8 contradict' "${train[@]}" --data_dir "$data" --tpu v2-8 --device tpu-emulator:v3-8
expect 1 "device 'tpu-emulator:v2-99'" "${train[@]}" --data_dir "$data" --tpu v2-99
expect 2 '--tpu v2-8 and --nouse_tpu contradict' "$tenon" evaluate mlp --data_dir "$data" --model_dir "$model" --tpu v2-8 --nouse_tpu
expect 2 'exclude each other' "${train[@]}" --data_dir "$data" --save_checkpoints_steps 5 --save_checkpoints_secs 5
for flag in '--save_checkpoints_steps 5' '--save_checkpoints_secs 5' '--keep_checkpoint_max 2' '--keep_checkpoint_every_n_hours 1' --async_checkpoints '--save_summary_steps 1'; do
  # shellcheck disable=SC2086
  expect 2 "${flag%% *} needs --model_dir" "$tenon" train mlp --synthetic --train_batch_size 16 --train_steps 1 --device cpu $flag
done
for flag in '--steps_between_evals 3' '--eval_batch_size 3' '--num_eval_images 3' '--eval_data_path x' --eval_drop_remainder; do
  # shellcheck disable=SC2086
  expect 2 'and --noevaluate exclude each other' "${train[@]}" --data_dir "$data" --noevaluate $flag
done

echo '# what is not kept is said'
expect 0 '' "$tenon" train mlp --hidden 4 --data_dir "$data" --train_steps 1 --train_batch_size 16 --noevaluate --device cpu
grep -q 'nothing of this training is kept' "$work/out" || complain "train without --model_dir: $(cat "$work/out")"

echo '# files and devices'
expect 1 "no directory '$work/none'" "${train[@]}" --data_dir "$work/none"
expect 1 "device 'abacus'" "${train[@]}" --data_dir "$data" --device abacus
expect 1 "device 'cpu:foo': cpu: no such spec" "${train[@]}" --data_dir "$data" --device cpu:foo
expect 1 "device 'abacus': no such backend; found" "$tenon" devices --device abacus
expect 1 'there is no device' "$tenon" devices --device cpu:foo
expect 1 "$work/idx" "${train[@]}" --data_dir "$work/idx"
expect 1 'batch size 65 is larger than the 64 examples' "$tenon" train mlp --data_dir "$data" --train_batch_size 65
expect 1 '--eval_batch_size 33 is larger than the 32' "$tenon" evaluate mlp --data_dir "$data" --model_dir "$model" --eval_batch_size 33
expect 1 'has no checkpoint' "$tenon" evaluate mlp --data_dir "$data" --model_dir "$work/none"
"$tenon" predict mlp --data_dir "$data" --model_dir "$work/none" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && tail -n 1 "$work/err" | grep -q 'has no checkpoint' || complain "predict without a checkpoint said $(cat "$work/err")"
[ ! -s "$work/out" ] || complain "predict without a checkpoint wrote $(cat "$work/out")"
mkdir "$work/empty"
expect 1 "$work/empty: has no checkpoint" "$tenon" evaluate mlp --data_dir "$data" --checkpoint "$work/empty"
expect 1 "$work/empty/none" "$tenon" evaluate mlp --data_dir "$data" --checkpoint "$work/empty/none"
expect 1 "'dense/kernel'" "$tenon" train mlp --hidden 17 --data_dir "$data" --model_dir "$model" --train_batch_size 16 --train_steps 9
expect 1 "'conv2d/kernel'" "$tenon" train fashion --data_dir "$data" --model_dir "$model" --train_batch_size 16 --train_steps 9
expect 1 '/dev/null' "${train[@]}" --data_dir "$data" --model_dir /dev/null/model
expect 1 "/dev/null/p.csv" "$tenon" predict mlp --hidden 16 --data_dir "$data" --model_dir "$model" --output /dev/null/p.csv
expect 1 '/dev/null' "$tenon" convert idx --input "$work/idx" --output /dev/null/x
expect 1 "$data" "$tenon" convert idx --input "$work/idx" --output "$data"
expect 1 'is nan at step' "$tenon" train mlp --hidden 16 --data_dir "$data" --model_dir "$model" --train_steps 400 --optimizer sgd \
  --learning_rate 1e30 --train_batch_size 16
expect 1 'expected 1 to 3, the number of classes (--num_classes), found 4' "${train[@]}" --data_dir "$data" --num_classes 3
[ "$(cd "$model" && cat -- * | cksum)" = "$before" ] || complain 'the model directory has changed'

echo '# without its backend'
mkdir -p "$work/bin"
cp "$tenon" "$work/bin/tenon"
if [ ! -e /usr/local/lib/tenon/cpu.so ] && [ ! -e /usr/lib/tenon/cpu.so ]; then
  expect 1 "$work/lib/tenon" "$work/bin/tenon" train mlp --synthetic
  mkdir -p "$work/lib/tenon"
  echo 'not a library' >"$work/lib/tenon/cpu.so"
  expect 1 "$work/lib/tenon/cpu.so" "$work/bin/tenon" train mlp --synthetic
  expect 1 'no device' "$work/bin/tenon" devices
  grep -qF "$work/lib/tenon/cpu.so" "$work/out" || complain 'tenon devices does not show the refused library'
fi

echo '# damaged records'
damaged() { # NAME PERL: a copy of the data whose first training file went through a program on $_
  cp -r "$data" "$work/$1"
  perl -0777 -pi -e "$2" "$work/$1"/train-00000-of-*
}
damaged flipped 'substr($_, 700, 1) = chr(ord(substr($_, 700, 1)) ^ 1)'
damaged cut '$_ = substr($_, 0, length($_) - 10)'
damaged length 'substr($_, 0, 1) = chr(ord(substr($_, 0, 1)) ^ 1)'
expect 1 "$work/flipped/train-00000-of-" "${train[@]}" --data_dir "$work/flipped"
grep -qE 'checksum of the data: expected [0-9]+, found [0-9]+$' "$work/err" || complain "no checksums in: $(cat "$work/err")"
expect 1 'record at offset 0: checksum of the length: expected ' "${train[@]}" --data_dir "$work/length"
expect 1 "$work/cut/train-00000-of-" "${train[@]}" --data_dir "$work/cut"
expect 1 "$work/flipped/train-00000-of-" "$tenon" inspect records "$work/flipped"/train-00000-of-*
for kind in flipped cut; do
  expect 0 '' "${train[@]}" --data_dir "$work/$kind" --skip-corrupt
  grep -q 'left out 1 corrupt record' "$work/out" || complain "$kind: the damaged record was not reported"
done
grep -q "left out 1 corrupt record; the rest of $work/cut/train-00000-of-.* is lost" "$work/out" || complain "the lost rest was not reported: $(cat "$work/out")"
expect 1 "batch size 64 is larger than the 63 examples in $work/cut/train-*; the rest of $work/cut/train-00000-of-" "$tenon" train mlp --data_dir "$work/cut" --train_batch_size 64 --skip_corrupt

echo '# what is no file, and records that no memory holds'
for name in labels.txt info.json; do
  mkdir "$work/pipe_$name" "$work/endless_$name"
  cp "$data"/* "$work/pipe_$name" && cp "$data"/* "$work/endless_$name"
  rm "$work/pipe_$name/$name" "$work/endless_$name/$name"
  mkfifo "$work/pipe_$name/$name" && ln -s /dev/zero "$work/endless_$name/$name"
  for kind in pipe endless; do
    expect 1 "$work/${kind}_$name/$name': expected a regular file, found a device or pipe" timeout 60 "${train[@]}" --data_dir "$work/${kind}_$name"
  done
done

echo '# classes of one name'
cp -r "$data" "$work/twice"
{ cat "$data/labels.txt" && echo && head -n 1 "$data/labels.txt"; } >"$work/twice/labels.txt"
twice="$work/twice/labels.txt:$(wc -l <"$work/twice/labels.txt"): class '$(head -n 1 "$data/labels.txt")' is there already, on line 1"
expect 1 "$twice" "${train[@]}" --data_dir "$work/twice"
expect 0 '' "${train[@]}" --data_dir "$data" --model_dir "$work/once"
for command in evaluate predict; do
  expect 1 "$twice" "$tenon" "$command" --model_dir "$work/once" --data_dir "$work/twice"
done

echo '# a multiplier of the rate for no variable'
expect 2 "--learning_rate_multiplier: 'hiden' is found in no variable's name; variables are '" \
  "${train[@]}" --data_dir "$data" --model_dir "$work/unmultiplied" --learning_rate_multiplier kernel=0.5 --learning_rate_multiplier hiden=0.1
[ ! -e "$work/unmultiplied" ] || complain 'a multiplier for no variable left a directory'

echo '# info.json that is cut off'
cp -r "$data" "$work/cut_info"
head -c 20 "$data/info.json" >"$work/cut_info/info.json"
expect 1 "$work/cut_info/info.json:1:21: is damaged: the file ends in the middle" "${train[@]}" --data_dir "$work/cut_info"
echo '[1]' >"$work/cut_info/info.json"
expect 1 "$work/cut_info/info.json: is a list, expected an object" "${train[@]}" --data_dir "$work/cut_info"
cp -r "$data" "$work/run[1]"
expect 0 '' "${train[@]}" --data_dir "$work/run[1]"
expect 0 '' "${train[@]}" --data_dir "$data" --train_data_path "$work/run[1]/train-*"
mkdir "$work/sparse"
cp "$data"/labels.txt "$data"/info.json "$data"/validation-* "$work/sparse"
printf '\0\0\0\0\0\010\0\0\313\123\042\273' >"$work/sparse/train-00000-of-00001"  # 8 TiB, and a good checksum
if truncate -s 8796093022224 "$work/sparse/train-00000-of-00001"; then
  expect 1 "$work/sparse/train-00000-of-00001: record at offset 0: length: expected at most 1073741824 bytes of data, found 8796093022208" \
    timeout 60 "${train[@]}" --data_dir "$work/sparse"
fi
mkfifo "$work/sparse/train"
expect 1 "$work/sparse/train': expected a regular file, found a device or pipe" timeout 60 "${train[@]}" --data_dir "$data" --train_data_path "$work/sparse/train"

echo '# weights that diverge'
wild=("$tenon" train mlp --hidden 16 --train_batch_size 16 --data_dir "$data" --model_dir "$work/wild" --optimizer sgd)
expect 1 'expected a finite number' "${wild[@]}" --learning_rate 1e10 --save_checkpoints_steps 1 --train_steps 50 --noevaluate
"${wild[@]}" --learning_rate 0.01 --train_steps 50 --noevaluate >"$work/out" 2>"$work/err" ||
  expect 0 '' "${wild[@]}" --learning_rate 0.01 --train_steps 50 --noevaluate
expect 0 '' "$tenon" train mlp --hidden 16 --data_dir "$data" --train_batch_size 16 --train_steps 1 --optimizer sgd --learning_rate 1e9 \
  --model_dir "$work/large" --noevaluate
expect 0 '' "$tenon" evaluate mlp --hidden 16 --data_dir "$data" --model_dir "$work/large"
grep -qE '^loss [0-9.]+e\+[0-9]+$' "$work/out" || complain "a large loss is printed as $(cat "$work/out")"

echo '# damaged checkpoints'
cp -r "$model" "$work/torn"
perl -0777 -pi -e 'substr($_, 5, 1) = chr(ord(substr($_, 5, 1)) ^ 1)' "$work/torn"/model.ckpt-4.data-00000-of-00001
expect 1 "$work/torn/model.ckpt-4" "$tenon" inspect checkpoint "$work/torn/model.ckpt-4"
expect 1 "$work/torn" "$tenon" evaluate mlp --hidden 16 --data_dir "$data" --model_dir "$work/torn"

echo '# images'
mkdir "$work/images"
echo iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== | base64 -d >"$work/images/a.png"
echo 'no image at all' >"$work/images/b.jpg"
printf 'red\nblue\n' >"$work/labels.txt"
printf 'red\n' >"$work/one_label.txt"
printf '%s\n' "$work/images/a.png,red" "$work/images/a.png,blue" "$work/images/a.png,green" >"$work/good.csv"
printf '%s\n' "$work/images/a.png,red" "$work/images/b.jpg,blue" >"$work/bad.csv"
printf '%s\n' "$work/images/none.jpg,red" >"$work/missing.csv"
: >"$work/empty.csv"
images=("$tenon" convert images --labels "$work/labels.txt")
expect 1 "$work/images/b.jpg" "${images[@]}" --train_csv "$work/bad.csv" --output "$work/bad"
expect 1 "$work/images/none.jpg" "${images[@]}" --train_csv "$work/missing.csv" --output "$work/bad"
expect 1 "$work/empty.csv" "${images[@]}" --train_csv "$work/empty.csv" --output "$work/bad"
expect 1 "$work/none.csv" "${images[@]}" --train_csv "$work/none.csv" --output "$work/bad"
expect 1 "$work/one_label.txt" "$tenon" convert images --labels "$work/one_label.txt" --train_csv "$work/good.csv" --output "$work/bad"
[ ! -e "$work/bad" ] || complain "$work/bad was left behind: $(ls -A "$work/bad")"
expect 0 '' "${images[@]}" --train_csv "$work/good.csv" --validation_csv "$work/bad.csv" --skip_bad_images --output "$work/some"
grep -q 'train: left out 1 (unknown labels), the first ' "$work/out" || complain 'the unknown label was not counted'
grep -q 'validation: left out 1 (bad images), the first ' "$work/out" || complain 'the bad image was not counted'
finish
