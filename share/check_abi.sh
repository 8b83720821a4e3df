#!/bin/sh
# Refuses a change of the C ABI that a plugin which exists would notice.
#
#   share/check_abi.sh [--headers DIR] [--history DIR]      the headers against every published version
#   share/check_abi.sh --layout [--headers DIR]             their structs, fields and offsets
#   share/check_abi.sh --snapshot [..]                      writes them down as the draft of their version
#   share/check_abi.sh --freeze [..]                        makes that draft final, if it is whole: there is no way back
#
# Allowed: what is appended to a struct, an enum or the table under a higher minor version, new types, new flag bits.
# A version is frozen or a draft (history/VERSION/status). A draft may still change: take a new snapshot, and say why
# in CHANGELOG.md. Needs a C compiler ($CC, cc) and awk.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
headers=$root/sdk/include history=$root/sdk/abi-history mode=check
usage() { sed -n '4,7s/^# *//p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    --headers | --history) [ $# -ge 2 ] || usage ;;
  esac
  case "$1" in
    --headers) headers=$2; shift ;;
    --history) history=$2; shift ;;
    --layout) mode=layout ;;
    --snapshot) mode=snapshot ;;
    --freeze) mode=freeze ;;
    *) usage ;;
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
    function trim(s) {
      gsub(/[ \t\n]+/, " ", s)
      gsub(/ *\* */, "* ", s); gsub(/\* \*/, "**", s)
      gsub(/ *, */, ", ", s); gsub(/ *\( */, "(", s); gsub(/ *\) */, ")", s)
      sub(/^ /, "", s); sub(/ $/, "", s)
      return s
    }
    # With the names of parameters: two of one type that change places are seen by them alone.
    function entry(type, text,   name) {
      name = text; sub(/^[^(]*\(\* ?/, "", name); sub(/\).*/, "", name)
      sub("\\(\\* ?" name "\\)", "(*)", text)
      print "field", type, name, text
    }
    # "uint64_t a, b[2]"
    function fields(type, text,   name, base, n, parts, i, array) {
      n = split(text, parts, ", ")
      base = parts[1]; sub(/[ ]?[A-Za-z0-9_]+(\[[^]]*\])*$/, "", base)
      parts[1] = substr(parts[1], length(base) + 1)
      for (i = 1; i <= n; ++i) {
        name = parts[i]; sub(/^ /, "", name); array = ""
        if (match(name, /\[.*/)) { array = substr(name, RSTART); name = substr(name, 1, RSTART - 1) }
        print "field", type, name, base array
      }
    }
    function numbers(type, body,   n, items, i, pair) {
      n = split(body, items, ", ")
      for (i = 1; i <= n; ++i) {
        split(items[i], pair, / *= */)
        if (type == "") type = "enum." trim(pair[1])
        if (trim(pair[1]) != "") print "enum", type, trim(pair[1]), trim(pair[2])
      }
    }
    function declaration(d,   kind, name, body, n, items, i, item) {
      d = trim(d)
      if (d !~ /tenon_|TENON_/) return
      if (match(d, /^(typedef )?(struct|union|enum) ?[a-z_0-9]* ?\{/)) {
        kind = d; sub(/^typedef /, "", kind); name = kind; sub(/[ {].*/, "", kind)
        sub(/^[a-z]+ ?/, "", name); sub(/ ?\{.*/, "", name)
        body = substr(d, RLENGTH + 1); sub(/\}[^}]*$/, "", body)
        if (kind == "enum") { numbers(name, body); return }
        print kind, name
        n = split(body, items, ";")
        for (i = 1; i <= n; ++i) {
          item = trim(items[i])
          if (item ~ /\(\*/) entry(name, item)
          else if (item != "") fields(name, item)
        }
      } else if (d ~ /^typedef/) {
        print "typedef", d
      } else if (match(d, /tenon_[a-z_]+\(/)) {
        name = substr(d, RSTART, RLENGTH - 1); sub(/^__attribute__\(\(.*\)\)/, "", d)
        print "function", name, trim(d)
      }
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
  awk '$2 ~ /^TENON_/ && $2 !~ /^TENON_ABI_[A-Z]+_H$/ {
      name = $2; sub(/\(.*/, "", name); $1 = ""
      print "macro -", name, substr($0, length(name) + 2)
    }' "$work/macros" >"$work/unsorted"
  LC_ALL=C sort "$work/unsorted"
}

# The compiler's view: struct NAME SIZE, field NAME.FIELD OFFSET SIZE, number NAME VALUE.
layout() { # headers description
  {
    cat "$work/all.h"
    echo '#include <stdio.h>'
    echo 'int main(void) {'
    awk '
      $1 == "struct" || $1 == "union" { type = $1 " " $2; printf "printf(\"struct %s %%d\\n\", (int)sizeof(%s));\n", $2, type }
      $1 == "field" {
        printf "printf(\"field %s.%s %%d %%d\\n\", (int)offsetof(%s, %s), ", $2, $3, type, $3
        printf "(int)sizeof(((%s*)0)->%s));\n", type, $3
      }
      # of macros those that are numbers
      $1 == "enum" || ($1 == "macro" && $4 ~ /^(\(?[0-9]|UINT)/) {
        printf "printf(\"number %s %%lld\\n\", (long long)(%s));\n", $3, $3
      }' "$2"
    echo 'return 0; }'
  } >"$work/layout.c"
  "$CC" -std=c11 -w -I"$1" -o "$work/layout" "$work/layout.c"
  "$work/layout"
}

version_of() { # description
  awk '$3 == "TENON_ABI_MAJOR" { a = $4 + 0 }
       $3 == "TENON_ABI_MINOR" { b = $4 + 0 }
       END { print a "." b }' "$1"
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

# Prints what is wrong and what was appended: old.txt old.layout against new.txt new.layout.
compare() {
  awk '
    function wrong(s) { print "wrong " s }
    function added(s) { print "added " s }
    # Behind the first n words.
    function rest(s, n) { for (; n > 0; --n) sub(/^[^ ]+ ?/, "", s); return s }
    function key_of(line) { return $1 == "typedef" ? line : $1 " " ($1 == "function" ? $2 : $3) }
    function label_of(kind, type, name) { return kind == "field" ? type "." name : name }
    # Flags of one family: TENON_UNIT_..
    function family(name) { sub(/^TENON_/, "", name); sub(/_.*/, "", name); return name }

    FNR == 1 { ++file }
    # descriptions: members of types in their order, types, the rest
    file % 2 == 1 && $1 ~ /^(field|enum)$/ {
      kind_of[file, $2] = $1
      member[file, $2, ++count[file, $2]] = $3
      text[file, $1, $2, $3] = rest($0, 3)
      if (file == 1) order[++n] = $1 SUBSEP $2 SUBSEP $3
      types[file, $2]
      if (file == 1) old_types[$2]; else new_types[$2]
      next
    }
    file % 2 == 1 && $1 ~ /^(struct|union)$/ { if (file == 1) old_kind[$2] = $1; else new_kind[$2] = $1; next }
    file % 2 == 1 {
      if (file == 1) old_rest[key_of($0)] = $0; else new_rest[key_of($0)] = $0
      if (file == 3 && $1 == "macro") bit[family($3), rest($0, 3)] = bit[family($3), rest($0, 3)] " " $3
      next
    }
    # layouts
    $1 == "struct" { size[file, $2] = $3 }
    $1 == "field" { at[file, $2] = $3; bytes[file, $2] = $4 }
    $1 == "number" { number[file, $2] = $3 }

    function check_member(kind, type, name, place,   label) {
      label = label_of(kind, type, name)
      if (!((3, kind, type, name) in text)) { wrong(label " was removed"); return }
      if (kind == "enum") {
        if (number[2, name] != number[4, name]) wrong(name " is " number[4, name] ", it was " number[2, name])
      } else {
        if (text[1, kind, type, name] != text[3, kind, type, name])
          wrong(label " is of type " text[3, kind, type, name] ", it was " text[1, kind, type, name])
        if (at[2, label] != at[4, label]) wrong(label " is at offset " at[4, label] ", it was at " at[2, label])
        if (bytes[2, label] != bytes[4, label]) wrong(label " has " bytes[4, label] " bytes, it had " bytes[2, label])
      }
      if (member[3, type, place] != name) wrong(label " is in another place among its fellows")
    }
    function check_new_member(type, place,   kind, name, label, j) {
      kind = kind_of[3, type]; name = member[3, type, place]; label = label_of(kind, type, name)
      if ((1, kind, type, name) in text) return
      if (type in frozen || old_kind[type] == "union") wrong(label ": " type " is frozen")
      else if (place <= count[1, type]) wrong(label " was put in before the end of " type)
      else if (kind == "field" && at[4, label] < size[2, type]) wrong(label " lies in what was padding of " type)
      else added(label)
      for (j = 1; kind == "enum" && j < place; ++j)
        if (number[4, member[3, type, j]] == number[4, name]) wrong(name " has the number of " member[3, type, j])
    }
    function check_new_macro(name, value) {
      if (value ~ /<</ && split(bit[family(name), value], others, " ") > 1)
        wrong(name " takes the bit of another flag:" bit[family(name), value])
    }

    END {
      split("tenon_status tenon_scalar tenon_array tenon_text tenon_range tenon_point", names, " ")
      for (i in names) frozen[names[i]]
      for (type in old_kind)
        if (!(type in new_kind)) wrong(old_kind[type] " " type " was removed")
        else if (old_kind[type] != new_kind[type]) wrong(type " is a " new_kind[type] ", it was a " old_kind[type])
      for (i = 1; i <= n; ++i) {
        split(order[i], p, SUBSEP)
        ++seen[p[2]]
        if (p[1] == "enum" || p[2] in new_kind) check_member(p[1], p[2], p[3], seen[p[2]])
      }
      for (type in new_types)
        if (type in old_types) for (i = 1; i <= count[3, type]; ++i) check_new_member(type, i)
      for (type in new_kind) if (!(type in old_kind)) added(type)
      for (key in old_rest)
        if (key == "macro TENON_ABI_MINOR") continue
        else if (!(key in new_rest)) wrong(key " was removed")
        else if (old_rest[key] != new_rest[key]) wrong(key " has changed: " new_rest[key])
      for (key in new_rest)
        if (!(key in old_rest)) {
          added(key)
          if (key ~ /^macro/) check_new_macro(rest(key, 1), rest(new_rest[key], 3))
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
  if [ "$status" = frozen ] && ! (cd "$at" && sha256sum --quiet -c SHA256SUMS) >"$work/sums" 2>&1; then
    fail "version $old is frozen, and its files are not those of that day: $(head -n 1 "$work/sums")"
  fi
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
if [ "$mode" = freeze ]; then
  at=$history/$version
  status=$(cat "$at/status" 2>/dev/null || echo absent)
  [ "$status" = draft ] || fail "version $version is $status; what is frozen has to be a draft"
  # Comments too: they are the contract.
  for f in "$headers"/tenon/abi/*.h; do
    cmp -s "$f" "$at/tenon/abi/$(basename "$f")" || fail "$at/tenon/abi/$(basename "$f") is not $f; take a new snapshot"
  done
  made=$at/x86_64-linux
  if [ ! -f "$made/example.so.gz" ] || [ ! -f "$made/skeleton.so.gz" ] || [ ! -f "$made/hashes" ] ||
    [ ! -f "$made/headers.sha256" ] || [ ! -f "$at/ops.txt" ]; then
    fail "$at lacks ops.txt, or $(basename "$made") in it example.so.gz, skeleton.so.gz, hashes or headers.sha256; share/keep_abi_binaries.sh makes them"
  elif [ "$(cat "$made/headers.sha256")" != "$(cat "$at"/tenon/abi/*.h | sha256sum | cut -d ' ' -f 1)" ]; then
    fail "$made was built with other headers than $at/tenon/abi; share/keep_abi_binaries.sh renews it"
  fi
  if [ $failures -eq 0 ]; then
    echo frozen >"$at/status"
    (cd "$at" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
  fi
fi
[ $failures -eq 0 ] || exit 1
for v in $published; do echo "check_abi: version $v ($(cat "$history/$v/status")): all of it is still there"; done
