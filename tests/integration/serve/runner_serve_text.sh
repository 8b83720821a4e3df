#!/bin/bash
# tenon serve with models of text.
#   runner_serve_text.sh TENON
. "$(dirname "$0")/../runner_lib.sh"
here=$(dirname "$0")
for i in $(seq 400); do echo "After $((i % 10)) comes $(((i + 1) % 10))."; done >"$work/text"
"$tenon" convert text --vocab_size 100 --max_length 32 --output "$work/data" --input "$work/text" >/dev/null || complain 'convert text'
"$tenon" train gpt --param_set tiny --data_dir "$work/data" --train_steps 8 --noevaluate --model_dir "$work/gpt" --device cpu --quiet \
  >/dev/null || complain 'train gpt'
words=(one two three four five six seven)
others=(eins zwei drei vier sechs sieben acht)
for i in $(seq 300); do echo "${words[i % 7]} ${words[i % 5]} ${words[i % 3]} $i"; done >"$work/en"
for i in $(seq 300); do echo "${others[i % 7]} ${others[i % 5]} ${others[i % 3]} $i"; done >"$work/de"
"$tenon" convert translation --vocab_size 100 --train_shards 2 --dev_fraction 0.1 --source "$work/en" --target "$work/de" --output "$work/pairs" >/dev/null ||
  complain 'convert translation'
"$tenon" train transformer --param_set tiny --data_dir "$work/pairs" --train_steps 8 --batch_size 512 --noevaluate --device cpu --quiet \
  --model_dir "$work/transformer" >/dev/null || complain 'train transformer'

serve=("$tenon" serve --port 0 --device cpu)
expect 2 "--generate: expected NAME=DIR, found 'gpt'" "${serve[@]}" --generate gpt
expect 2 "--generate: two models are called 'a'" "${serve[@]}" --generate "a=$work/gpt" --translate "a=$work/transformer"
expect 1 'the model gpt does not translate; transformer does' "${serve[@]}" --translate "a=$work/gpt"
expect 1 'the model transformer does not continue text; gpt does' "${serve[@]}" --generate "a=$work/transformer"
expect 1 "--generate: no directory '$work/nowhere'" "${serve[@]}" --generate "a=$work/nowhere"
python3 "$here/serve_text_test.py" "$tenon" "$work/gpt" "$work/transformer" "$work" || complain 'texts'
if command -v chromium >/dev/null; then
  python3 "$here/page_text_test.py" "$tenon" "$work/transformer" "${@:2}" || complain 'page_text_test.py'
else
  echo 'page_text_test.py is left out: no chromium'
fi
finish
