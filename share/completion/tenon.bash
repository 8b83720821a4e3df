# bash completion of tenon and tenon-conform: subcommands, models, and the flags that `tenon SUBCOMMAND --help` lists.
# A model has flags of its own: `tenon train flowers --help`.
_tenon_help() {
  "${COMP_WORDS[0]}" "${COMP_WORDS[1]}" $([[ ${COMP_WORDS[2]} == -* ]] || echo "${COMP_WORDS[2]}") --help 2>/dev/null
}

# First words of the indented lines behind a heading that `tenon .. --help` prints: subcommands, models, cases, ops.
_tenon_listed() {
  local heading=$1
  shift
  "${COMP_WORDS[0]}" "$@" --help 2>/dev/null |
    awk -v heading="$heading" 'index($0, heading) == 1 { on = 1; next } !/^  / { on = 0 } on { print $1 }' | tr '\n' ' '
}

# All words of those lines.
_tenon_applications() {
  "${COMP_WORDS[0]}" train --help 2>/dev/null |
    awk 'index($0, "Applications") == 1 { on = 1; next } !/^  / { on = 0 } on' | tr '\n' ' '
}

# Whether a flag takes a value that is no file; its choices go to `words`: "--log tenon|estimator", or "..; a, b, c [a]".
_tenon_value() {
  local help kind
  help=$(_tenon_help | awk -v flag="$1" '$1 == flag { found = 1; print; next } found && /^   / { print; next } { found = 0 }' | tr '\n' ' ')
  kind=$(awk '{ print $2 }' <<<"$help")
  case $kind in
    N | X) return 0 ;;
    *'|'*) words=${kind//|/ } ;;
    TEXT)
      [[ $help == *'; '*', '*' ['* ]] || return 1
      words=$(sed 's/.*; //; s/ \[.*//; s/,//g' <<<"$help")
      ;;
    *) return 1 ;;
  esac
}

_tenon() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} words=

  if ((COMP_CWORD == 1)); then
    words=$("${COMP_WORDS[0]}" --help 2>/dev/null | awk '/^  / { print $1 }' | tr '\n' ' ')
    words+=' --help --version'
  elif [[ $previous == --device || $previous == --devices ]]; then
    words='auto cpu opencl-gpu tpu-emulator tpu-emulator:v2-8 tpu-emulator:v3-8 tpu-emulator:v4-8'
  elif [[ $previous == --tpu ]]; then
    words=$("${COMP_WORDS[0]}" preflight mlp --tpu . 2>&1 | sed -n 's/.*known are //p' | tr -d ,)
  elif [[ $previous == --*dir || $previous == --*path || $previous == --input || $previous == --output || $previous == --source || $previous == --target || $previous == --reference || $previous == --hypothesis || $previous == --file || $previous == --bleu_source || $previous == --bleu_ref || $previous == --profile || $previous == --jobs || $previous == --cluster || $previous == --tls_certificate || $previous == --tls_key || $previous == --token_file || $previous == --allow_reload_config ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  elif [[ $current == -* ]]; then
    words=$(_tenon_help | grep -oE -- '^  --[a-z][a-z0-9_-]*')
  elif [[ $previous == --* ]] && _tenon_value "$previous"; then
    [[ -n $words ]] || return
  elif [[ $command == serve && $current == *=* || $command == serve && $previous == '=' ]]; then
    COMPREPLY=($(compgen -d -- "${current##*=}") $(compgen -f -X '!*.onnx' -- "${current##*=}"))
    return
  elif ((COMP_CWORD == 2)); then
    case $command in
      convert) words='idx images translation summaries answers text table weights' ;;
      train | evaluate | predict | export | preflight) words="$(_tenon_listed Models train) $(_tenon_applications)" ;;
      inspect) words='graph plan model records checkpoint weights onnx ops' ;;
      bench) words='step fit decode op input exchange serve' ;;
      plot) COMPREPLY=($(compgen -W 'curves epochs confusion wrong' -f -- "$current")); return ;;
    esac
  elif ((COMP_CWORD == 3)) && [[ $command == inspect && ${COMP_WORDS[2]} == @(graph|plan|model) ]]; then
    words="$(_tenon_listed Models train) $(_tenon_applications)"
  elif ((COMP_CWORD == 3)) && [[ $command == bench && ${COMP_WORDS[2]} == op ]]; then
    words=$(_tenon_listed Ops bench)
  elif ((COMP_CWORD == 3)) && [[ $command == bench && ${COMP_WORDS[2]} == decode ]]; then
    words='tiny base big'
  elif ((COMP_CWORD == 3)) && [[ $command == bench && ${COMP_WORDS[2]} == input ]]; then
    words=$(_tenon_listed Inputs bench)
  elif ((COMP_CWORD == 3)) && [[ $command == bench ]]; then
    words=$(_tenon_listed Cases bench)
    [[ ${COMP_WORDS[2]} != step ]] || words+=$(_tenon_applications)
  fi
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _tenon tenon

# tenon-conform of the SDK: its options, and files, the first of which is the library.
_tenon_conform() {
  local current=${COMP_WORDS[COMP_CWORD]}
  if [[ ${COMP_WORDS[COMP_CWORD - 1]} == --level ]]; then
    COMPREPLY=($(compgen -W '0 1 2 3 4' -- "$current"))
  elif [[ ${COMP_WORDS[1]} == ops && $COMP_CWORD -gt 1 ]]; then
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" ops 2>/dev/null | sed -n 's/^## \([a-z_0-9]*\)$/\1/p')" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null | grep -oE -- '^  --[a-z-]+')" -- "$current"))
  else
    COMPREPLY=($(compgen -W ops -f -- "$current"))
  fi
}
complete -o filenames -F _tenon_conform tenon-conform
