#!/bin/sh
# Prints the reference of the C ABI, made from its headers: share/abi_reference.sh > share/doc/abi-reference.md
#
# The headers are the document; here their comments are prose, and each struct is a table with offsets and sizes.
# Needs a C compiler ($CC, cc) and awk.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
include=$root/sdk/include
layout=$(mktemp)
trap 'rm -f "$layout"' EXIT
"$root/share/check_abi.sh" --layout >"$layout"

cat <<'HEAD'
# Reference of the C ABI

Made from the headers `tenon/abi/*.h`, which are the document: in `include` of an installed SDK, in `sdk/include` of Tenon's
sources, where `share/abi_reference.sh` makes this page. Offsets and sizes are in bytes, on 64-bit little-endian machines.
What each op takes, gives and means: `op-specification.md` beside this page in an installed SDK, and in C `tenon/op/spec.h`.
How a backend is written from nothing to a level: [backend-author.md](backend-author.md).
HEAD
for header in types op device optimizer plugin forecast; do
  awk -v header="$header.h" -v layout="$layout" '
    BEGIN {
      while ((getline line < layout) > 0) {
        split(line, w, " ")
        if (w[1] == "field") { offset[w[2]] = w[3]; size[w[2]] = w[4] }
        if (w[1] == "struct") bytes[w[2]] = w[3]
      }
      print "\n## tenon/abi/" header "\n"
    }
    function prose(s) { gsub(/^[ \t]*\/?\*+\/?[ \t]?/, "", s); sub(/[ \t]*\*\/[ \t]*$/, "", s); return s }
    function flush_code(   i) { if (!code) return; print "```c"; for (i = 0; i < code; ++i) print text[i]; print "```\n"; code = 0 }
    function flush_comment(   i) { flush_code(); for (i = 0; i < lines; ++i) print comment[i]; if (lines && comment[lines - 1] != "") print ""; lines = 0 }
    function field_name(d) {
      if (match(d, /\(\*[a-z_0-9]+\)/)) return substr(d, RSTART + 2, RLENGTH - 3)
      sub(/\[[^]]*\]$/, "", d); match(d, /[A-Za-z_0-9]+$/); return substr(d, RSTART, RLENGTH)
    }
    function cell(s) { gsub(/\|/, "\\|", s); return s }
    function row(declaration, note,   parts, n, i, type, name, key) {
      n = declaration ~ /\(/ ? 1 : split(declaration, parts, /, */)
      if (n == 1) parts[1] = declaration
      for (i = 1; i <= n; ++i) {
        name = field_name(parts[i]); key = type_name "." name
        if (i == 1) { type = parts[1]; sub(/[ \t]*[A-Za-z_0-9]+(\[[^]]*\])?$/, "", type) }
        printf "| %s | %s | `%s` | %s |\n", offset[key], size[key], cell(n > 1 && i > 1 ? type " " parts[i] : parts[i]), cell(note)
      }
    }
    # One declaration of a struct, which may span lines; comments before it and behind it are its note.
    function struct_line(s,   note, at) {
      if (s ~ /^[ \t]*\/\*/ || in_note) {
        in_note = s !~ /\*\//
        pending = pending (pending == "" ? "" : " ") prose(s)
        return
      }
      at = index(s, "/*"); note = ""
      if (at) { note = prose(substr(s, at)); if (s !~ /\*\//) in_note = 1; s = substr(s, 1, at - 1) }
      sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s)
      declaration = declaration (declaration == "" ? "" : " ") s
      if (declaration !~ /;$/) return
      sub(/;$/, "", declaration)
      row(declaration, pending (pending != "" && note != "" ? " " : "") note)
      declaration = ""; pending = ""
    }
    /^#ifndef TENON_ABI|^#define TENON_ABI_[A-Z]+_H|^#include|^#endif|^#ifdef|^#if|^extern|^}$/ { next }
    /^\/\* ---- / { s = $0; gsub(/^\/\* ---- | ---- \*\/$/, "", s); flush_comment(); print "### " toupper(substr(s, 1, 1)) substr(s, 2) "\n"; next }
    in_struct && /^}/ { in_struct = 0; print ""; next }
    in_struct { struct_line($0); next }
    in_enum { print; if ($0 ~ /}/) { in_enum = 0; print "```\n" } next }
    /^\/\*/ || in_comment { flush_code(); in_comment = $0 !~ /\*\//; s = prose($0); if (s != "" || lines) comment[lines++] = s; next }
    /^typedef (struct|union) [a-z_]+ {|^struct [a-z_]+ {/ {
      match($0, /tenon_[a-z_]+/); type_name = substr($0, RSTART, RLENGTH)
      print "### " type_name ", " bytes[type_name] " bytes\n"; flush_comment()
      print "| at | bytes | field | |\n|---|---|---|---|"
      in_struct = 1; declaration = ""; pending = ""; next
    }
    /^(typedef )?enum/ { flush_comment(); print "```c"; print; if ($0 ~ /}/) print "```\n"; else in_enum = 1; next }
    /^[ \t]*$/ { flush_comment(); next }
    { if (!code) flush_comment(); text[code++] = $0 }
    END { flush_comment() }
  ' "$include/tenon/abi/$header.h"
done
