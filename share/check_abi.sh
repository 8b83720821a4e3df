#!/bin/sh
# Refuses a change of the C ABI that a plugin which exists would notice.
#
#   share/check_abi.sh [--headers DIR] [--history DIR]      the headers against every published version
#   share/check_abi.sh --layout [--headers DIR]             their structs, fields and offsets
#   share/check_abi.sh --snapshot [..]                      writes them down as the draft of their version
#
# Allowed: what is appended to a struct, an enum or the table under a higher minor version, new types, new flag bits.
# A version is frozen or a draft (history/VERSION/status). A draft may still change: take a new snapshot, and say why
# in CHANGELOG.md. Needs a C compiler ($CC, cc) and awk.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
headers=$root/sdk/include history=$root/sdk/abi-history mode=check
while [ $# -gt 0 ]; do
  case "$1" in
    --headers) headers=$2; shift ;;
    --history) history=$2; shift ;;
    --layout) mode=layout ;;
    --snapshot) mode=snapshot ;;
    *) sed -n '4,6s/^# *//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
CC=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -f "$headers/tenon/abi/plugin.h" ] || { echo "check_abi: no tenon/abi/plugin.h in $headers" >&2; exit 2; }

# Types, fields, enumerators and macros, one a line, in the order of the headers.
describe() { # headers
  for f in "$1"/tenon/abi/*.h; do echo "#include \"tenon/abi/$(basename "$f")\""; done >"$work/all.h"
  "$CC" -E -P -std=c11 -I"$1" -x c "$work/all.h" >"$work/declarations"
  "$CC" -E -dM -std=c11 -I"$1" -x c "$work/all.h" >"$work/macros"
  awk '
    function trim(s) { gsub(/[ \t\n]+/, " ", s); gsub(/ *\* */, "* ", s); gsub(/\* \*/, "**", s)
      gsub(/ *, */, ", ", s); gsub(/ *\( */, "(", s); gsub(/ *\) */, ")", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }
    # Names of parameters are nobody s business.
    function nameless(s,   out) { out = ""
      while (match(s, /[*A-Za-z0-9_] ?[a-z_0-9]+[,)]/)) {
        out = out substr(s, 1, RSTART); s = substr(s, RSTART + 1)
        if (substr(out, length(out)) ~ /[A-Za-z0-9_]/ && s !~ /^ /) { match(s, /^[a-z_0-9]*[,)]/); out = out substr(s, 1, RLENGTH); s = substr(s, RLENGTH + 1) }
        else { match(s, /[,)]/); out = out substr(s, RSTART, 1); s = substr(s, RSTART + 1) }
      }
      return out s }
    function field(type, text,   name, base, n, parts, i) {
      if (text ~ /\(\*/) {
        name = text; sub(/^[^(]*\(\* ?/, "", name); sub(/\).*/, "", name)
        sub("\\(\\* ?" name "\\)", "(*)", text); print "field", type, name, nameless(text); return
      }
      n = split(text, parts, ", ")
      base = parts[1]; sub(/[ ]?[A-Za-z0-9_]+(\[[^]]*\])*$/, "", base)
      for (i = 1; i <= n; ++i) {
        name = parts[i]; if (i == 1) name = substr(name, length(base) + 1)
        sub(/^ /, "", name); array = ""
        if (match(name, /\[.*/)) { array = substr(name, RSTART); name = substr(name, 1, RSTART - 1) }
        print "field", type, name, base array
      }
    }
    function declaration(d,   kind, name, body, n, items, i, pair) {
      d = trim(d)
      if (d !~ /tenon_|TENON_/) return
      if (match(d, /^(typedef )?(struct|union|enum) ?[a-z_0-9]* ?\{/)) {
        kind = d; sub(/^typedef /, "", kind); name = kind; sub(/[ {].*/, "", kind)
        sub(/^[a-z]+ ?/, "", name); sub(/ ?\{.*/, "", name)
        body = substr(d, RLENGTH + 1); sub(/\}[^}]*$/, "", body)
        if (kind == "enum") {
          n = split(body, items, ", ")
          for (i = 1; i <= n; ++i) {
            split(items[i], pair, / *= */)
            if (name == "") name = "enum." trim(pair[1])
            if (trim(pair[1]) != "") print "enum", name, trim(pair[1]), trim(pair[2])
          }
          return
        }
        print kind, name
        n = split(body, items, ";")
        for (i = 1; i <= n; ++i) if (trim(items[i]) != "") field(name, trim(items[i]))
      } else if (d ~ /^typedef/) { print "typedef", d
      } else if (match(d, /tenon_[a-z_]+\(/)) { name = substr(d, RSTART, RLENGTH - 1); sub(/^__attribute__\(\(.*\)\)/, "", d); print "function", name, nameless(trim(d)) }
    }
    { gsub(/^#.*/, ""); text = text "\n" $0 }
    END {
      depth = 0; d = ""
      n = length(text)
      for (i = 1; i <= n; ++i) {
        c = substr(text, i, 1)
        if (c == "{") ++depth; if (c == "}") --depth
        if (c == ";" && depth == 0) { declaration(d); d = "" } else d = d c
      }
    }' "$work/declarations"
  awk '$2 ~ /^TENON_/ && $2 !~ /^TENON_ABI_[A-Z]+_H$/ { name = $2; sub(/\(.*/, "", name); $1 = ""; print "macro -", name, substr($0, length(name) + 2) }' "$work/macros" >"$work/unsorted"
  LC_ALL=C sort "$work/unsorted"
}

# The compiler's view: struct NAME SIZE, field NAME.FIELD OFFSET SIZE, number NAME VALUE.
layout() { # headers description
  {
    cat "$work/all.h"
    echo '#include <stdio.h>'
    echo 'int main(void) {'
    awk '$1 == "struct" || $1 == "union" { printf "printf(\"struct %s %%d\\n\", (int)sizeof(%s %s));\n", $2, $1, $2; kind = $1 }
         $1 == "field" { printf "printf(\"field %s.%s %%d %%d\\n\", (int)offsetof(%s %s, %s), (int)sizeof(((%s %s*)0)->%s));\n", $2, $3, kind, $2, $3, kind, $2, $3 }
         $1 == "enum" { printf "printf(\"number %s %%lld\\n\", (long long)%s);\n", $3, $3 }
         # macros that are numbers
         $1 == "macro" && $4 ~ /^(\(?[0-9]|UINT)/ { printf "printf(\"number %s %%lld\\n\", (long long)(%s));\n", $3, $3 }' "$2"
    echo 'return 0; }'
  } >"$work/layout.c"
  "$CC" -std=c11 -w -I"$1" -o "$work/layout" "$work/layout.c"
  "$work/layout"
}

version_of() { # description
  awk '$1 == "macro" && $3 == "TENON_ABI_MAJOR" { a = $4 + 0 } $1 == "macro" && $3 == "TENON_ABI_MINOR" { b = $4 + 0 } END { print a "." b }' "$1"
}

describe "$headers" >"$work/new.txt"
layout "$headers" "$work/new.txt" >"$work/new.layout"
version=$(version_of "$work/new.txt")

if [ "$mode" = layout ]; then
  cat "$work/new.layout"
  exit 0
fi

if [ "$mode" = snapshot ]; then
  at=$history/$version
  if [ -f "$at/status" ] && [ "$(cat "$at/status")" = frozen ]; then
    echo "check_abi: version $version is frozen; raise TENON_ABI_MINOR" >&2
    exit 1
  fi
  mkdir -p "$at/tenon/abi"
  cp "$headers"/tenon/abi/*.h "$at/tenon/abi/"
  {
    echo "# Layout and numbers of the C ABI, version $version; written by share/check_abi.sh, never by hand."
    cat "$work/new.layout"
  } >"$at/layout.txt"
  echo draft >"$at/status"
  echo "check_abi: $at holds version $version, a draft; say in CHANGELOG.md what has changed and why"
  exit 0
fi

# Prints what is wrong, then what was appended; old.txt old.layout new.txt new.layout.
compare() {
  awk '
    function wrong(s) { print "wrong " s; ++bad }
    function grown(s) { print "added " s }
    FNR == 1 { ++file }
    file == 1 && $1 ~ /^(field|enum)$/ { ++n_old[$2]; old[$2, n_old[$2]] = $3; text = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ ?/, "", text); what[$1, $2, $3] = text; types[$2] = $1; order[++n] = $1 SUBSEP $2 SUBSEP $3; next }
    file == 1 && $1 ~ /^(struct|union)$/ { kind[$2] = $1; next }
    file == 1 { key = $1 " " $3; if ($1 == "function") key = $1 " " $2; if ($1 == "typedef") key = $0; other[key] = $0; next }
    file == 2 && $1 == "struct" { size[$2] = $3; next }
    file == 2 && $1 == "field" { at[$2] = $3; bytes[$2] = $4; next }
    file == 2 { number[$2] = $3; next }
    file == 3 && $1 ~ /^(field|enum)$/ { ++n_new[$2]; new[$2, n_new[$2]] = $3; text = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ ?/, "", text); what2[$1, $2, $3] = text; types2[$2] = $1; next }
    file == 3 && $1 ~ /^(struct|union)$/ { kind2[$2] = $1; next }
    file == 3 { key = $1 " " $3; if ($1 == "function") key = $1 " " $2; if ($1 == "typedef") key = $0; other2[key] = $0; if ($1 == "macro") { value = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", value); family = $3; sub(/^TENON_/, "", family); sub(/_.*/, "", family); macros[family, value] = macros[family, value] " " $3 }; next }
    file == 4 && $1 == "struct" { size2[$2] = $3; next }
    file == 4 && $1 == "field" { at2[$2] = $3; bytes2[$2] = $4; next }
    file == 4 { number2[$2] = $3; next }
    END {
      split("tenon_status tenon_scalar tenon_array tenon_text tenon_range tenon_point", f, " ")
      for (i in f) frozen[f[i]] = 1
      for (t in kind) if (!(t in kind2)) wrong(kind[t] " " t " was removed"); else if (kind[t] != kind2[t]) wrong(t " is a " kind2[t] ", it was a " kind[t])
      for (i = 1; i <= n; ++i) {
        split(order[i], p, SUBSEP); k = p[1]; t = p[2]; name = p[3]; seen[t]++
        if (k == "field" && !(t in kind2)) continue
        label = k == "field" ? t "." name : name
        if (!((k, t, name) in what2)) { wrong(label " was removed"); continue }
        if (k == "field") {
          if (what[k, t, name] != what2[k, t, name]) wrong(label " is of type " what2[k, t, name] ", it was " what[k, t, name])
          if (at[label] != at2[label]) wrong(label " is at offset " at2[label] ", it was at " at[label])
          if (bytes[label] != bytes2[label]) wrong(label " has " bytes2[label] " bytes, it had " bytes[label])
        } else if (number[name] != number2[name]) wrong(name " is " number2[name] ", it was " number[name])
        if (new[t, seen[t]] != name) wrong(label " is in another place among its fellows")
      }
      for (t in n_new) for (i = 1; i <= n_new[t]; ++i) {
        name = new[t, i]; k = types2[t]
        if (!(t in types) || (k, t, name) in what) continue
        label = k == "field" ? t "." name : name
        if (t in frozen || kind[t] == "union") wrong(label ": " t " is frozen")
        else if (i <= n_old[t]) wrong(label " was put in before the end of " t)
        else if (k == "field" && at2[label] < size[t]) wrong(label " lies in what was padding of " t)
        else grown(label)
        if (k == "enum") for (j = 1; j < i; ++j) if (number2[new[t, j]] == number2[name]) wrong(name " has the number of " new[t, j])
      }
      for (t in kind2) if (!(t in kind)) grown(t)
      for (k in other) {
        if (k ~ /^macro TENON_ABI_MINOR$/) continue
        if (!(k in other2)) wrong(k " was removed"); else if (other[k] != other2[k]) wrong(k " has changed: " other2[k])
      }
      for (k in other2) if (!(k in other)) {
        grown(k)
        m = other2[k]; if (m !~ /^macro/) continue
        name = k; sub(/^macro /, "", name); family = name; sub(/^TENON_/, "", family); sub(/_.*/, "", family)
        value = m; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", value)
        if (value ~ /<</ && split(macros[family, value], q, " ") > 1) wrong(name " takes the bit of another flag:" macros[family, value])
      }
    }' "$work/old.txt" "$work/old.layout" "$work/new.txt" "$work/new.layout" >"$work/unsorted"
  LC_ALL=C sort "$work/unsorted"
}

failures=0
fail() { echo "check_abi: $*" >&2; failures=$((failures + 1)); }

published=
for at in "$history"/*/; do
  old=$(basename "$at")
  [ -f "$at/status" ] || { fail "$at says in no status whether it is frozen or a draft"; continue; }
  status=$(cat "$at/status")
  describe "$at" >"$work/old.txt"
  layout "$at" "$work/old.txt" >"$work/old.layout"
  [ "$(version_of "$work/old.txt")" = "$old" ] || fail "the headers in $at are of version $(version_of "$work/old.txt")"
  grep -v '^#' "$at/layout.txt" | cmp -s - "$work/old.layout" || fail "$at/layout.txt is not the layout of the headers beside it"
  compare >"$work/found"
  published="$published $old"
  while read -r kind what; do
    if [ "$kind" = added ] && [ "$old" != "$version" ]; then
      echo "check_abi: since $old: $what"
    elif [ "$status" = draft ] && [ "$old" = "$version" ]; then
      fail "version $old (draft): $what; take a new snapshot (share/check_abi.sh --snapshot) and say why in CHANGELOG.md"
    elif [ "$kind" = added ]; then
      fail "version $old is frozen: $what was added; raise TENON_ABI_MINOR"
    else
      fail "version $old ($status): $what"
    fi
  done <"$work/found"
done
[ -n "$published" ] || fail "nothing was published in $history"
case " $published " in
  *" $version "*) ;;
  *) echo "check_abi: version $version is not in the history yet" ;;
esac
[ $failures -eq 0 ] || exit 1
for v in $published; do echo "check_abi: version $v ($(cat "$history/$v/status")): all of it is still there"; done
