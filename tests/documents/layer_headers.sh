#!/bin/bash
# The table of layers in writing_a_model.md has a row for each public header that declares some, with all of them.
#   layer_headers.sh SOURCE_DIR
cd "$1" || exit 1

# class NAME : public BASE<NAME, ..
rows() {
  for header in core/include/tenon/*.h; do
    names=$(sed 's|//.*||' "$header" | tr '\n' ' ' | tr -s ' ' |
      grep -oE 'class [A-Z][A-Za-z0-9]* ?: public [A-Za-z]+<[A-Z][A-Za-z0-9]*' |
      awk '{ sub(/.*</, "") } $0 != "Self" { printf "%s`%s`", n++ ? ", " : "", $0 }')
    [ -z "$names" ] || echo "| \`${header#core/include/}\` | $names |"
  done
}

document=share/doc/writing_a_model.md
if ! difference=$(diff <(rows) <(grep -E '^\| `tenon/[a-z_]+\.h` \|' "$document")); then
  echo "$document: its table of layers is not what the headers declare (<):"
  echo "$difference"
  exit 1
fi
