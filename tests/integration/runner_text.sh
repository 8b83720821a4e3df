#!/bin/bash
# Names from files, of files, of backends and of the command line: whatever bytes they have, what the runner prints of them
# is UTF-8 without anything that acts on a terminal, and JSON that is valid.
#   runner_text.sh TENON BUNDLE_TOOL PLUGIN.so
. "$(dirname "$0")/runner_lib.sh"
bundle_tool=$2 plugin=$3
# Sets a title, clears the screen (with ESC and with C1), turns text around, ends the line, rings, is no UTF-8.
evil=$'e\033]0;x\007\033[2J\xc2\x9b2J\xe2\x80\xae\r\xff\xc0\xafvil'
lines="$evil"$'\nforged: line'

# Of standard input: 0 when it is clean.
clean() {
  perl -0777 -e '
    my $text = <STDIN>;
    exit 0 unless defined $text;
    exit 1 unless utf8::decode($text);
    exit($text =~ /[\x00-\x09\x0b-\x1f\x7f-\x9f\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]/ ? 1 : 0);'
}
is_json() {  # each line of a file, where there is a reader for it
  ! command -v python3 >/dev/null || python3 -c '
import json, sys
lines = open(sys.argv[1], "rb").read().decode("utf-8").splitlines()
sys.exit(0 if lines and all(isinstance(json.loads(l), dict) for l in lines) else 1)' "$1" 2>/dev/null
}
# What a command prints and complains of, as text and as JSON; how it ends is not looked at.
shows() {
  local json=
  for json in '' --json; do
    "$@" $json >"$work/out" 2>"$work/err"
    cat "$work/out" "$work/err" | clean || complain "$* $json: not fit for a terminal: $(cat -v "$work/out" "$work/err" | head -c 600)"
    ! grep -q '^forged' "$work/out" "$work/err" || complain "$* $json: a name made a line of its own: $(cat -v "$work/out" "$work/err" | head -c 600)"
    [ -z "$json" ] || [ ! -s "$work/out" ] || is_json "$work/out" || complain "$*: no JSON: $(cat -v "$work/out" | head -c 600)"
  done
}

printf '%s' "$evil" | clean && complain 'the check passes what it is to find: this test shows nothing'
printf 'a\nb \303\251\n' | clean || complain 'the check refuses what is clean'
make_idx "$work/idx" 64 32
printf '%s\n' "$evil" b c d >"$work/labels.txt"
data=$work/$lines.data
model=$work/$lines.model
shows "$tenon" convert idx --input "$work/idx" --output "$data" --labels "$work/labels.txt" --overwrite
shows "$tenon" convert idx --input "$work/idx" --output "$data"
shows "$tenon" convert idx --input "$work/$lines" --output "$work/x"
shows "$tenon" convert images --train_csv "$work/$lines" --labels "$work/labels.txt" --output "$work/x"
printf '%s,%s\n' "$evil.png" "$evil" >"$work/$evil.csv"
shows "$tenon" convert images --train_csv "$work/$evil.csv" --labels "$work/labels.txt" --output "$work/x"
shows "$tenon" train mlp --hidden 4 --data_dir "$data" --model_dir "$model" --train_steps 4 --train_batch_size 8 --device cpu --verbose
[ -e "$model/checkpoint" ] || complain "nothing was trained: $(cat "$work/err")"
shows "$tenon" evaluate mlp --hidden 4 --data_dir "$data" --model_dir "$model" --device cpu
shows "$tenon" predict mlp --hidden 4 --data_dir "$data" --model_dir "$model" --device cpu --output "$work/$lines.csv"
shows "$tenon" inspect records "$data"/train-00000-of-00001
shows "$tenon" inspect checkpoint "$model"
shows "$tenon" inspect checkpoint "$model" --values "$lines"
shows "$tenon" inspect checkpoint "$work/$lines"
"$tenon" predict mlp --hidden 4 --data_dir "$data" --model_dir "$model" --device cpu --json >"$work/out" 2>"$work/err"
is_json "$work/out" || complain "predictions are no JSON: $(cat -v "$work/out" | head -c 600)"
clean <"$work/out" || complain 'predictions as JSON are not fit for a terminal'

echo '# names in files'
printf '%s\ti64\t\t0100000000000000\n%s\tf32\t2\t0000c07f0000807f\n' global_step "$evil" |
  "$bundle_tool" write-checkpoint "$work/named" 1 || complain 'no checkpoint with such a name'
shows "$tenon" inspect checkpoint "$work/named"
grep -q 'e.u001b' "$work/out" || complain "the tensor's name is not shown: $(cat -v "$work/out")"
shows "$tenon" inspect checkpoint "$work/named" --values "$evil"
grep -q '"values": \[null, null\]' "$work/out" || complain "NaN and infinity as JSON: $(cat -v "$work/out")"
printf '%s\tbytes\t1:%s\n\n' "$evil" "$(printf '%s' "$lines" | od -An -tx1 | tr -d ' \n')" |
  "$bundle_tool" write-records "$work/named.records" none || complain 'no records with such a name'
shows "$tenon" inspect records "$work/named.records"

echo '# backends'
plugins=$work/${evil}.plugins  # no colon: these part directories
mkdir "$plugins"
cp "$plugin" "$plugins/$evil.so"
echo 'not a library' >"$plugins/$evil.text.so"
TENON_PLUGIN_PATH=$plugins shows "$tenon" devices
grep -q 'vil.text.so' "$work/out" || complain "the refused library is not shown: $(cat -v "$work/out" | head -c 600)"
shows "$tenon" devices --device "$lines"

echo '# the command line'
shows "$tenon" "$lines"
shows "$tenon" train "$lines"
shows "$tenon" train mlp "--$lines"
shows "$tenon" train mlp --train_steps "$lines"
shows "$tenon" bench op dot --shapes "$lines"
shows "$tenon" bench step "$lines"
shows "$tenon" preflight mlp --tpu "$lines"
shows "$tenon" preflight mlp --sweep "$lines"
shows "$tenon" preflight mlp --jobs "$work/$evil.csv"
shows "$tenon" inspect "$lines"
shows "$tenon" inspect ops "$lines"

echo '# on a terminal'
if command -v script >/dev/null; then
  for words in "predict mlp --hidden 4 --data_dir \"\$data\" --model_dir \"\$model\" --device cpu" "inspect checkpoint \"\$work/named\""; do
    data=$data model=$model work=$work script -qec "'$tenon' $words" /dev/null </dev/null | tr -d '\r' >"$work/out"
    clean <"$work/out" || complain "on a terminal, $words: $(cat -v "$work/out" | head -c 600)"
  done
fi
finish
