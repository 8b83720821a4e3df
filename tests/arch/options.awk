# A program that sets each member of each public struct of options by itself, as users do with {.batch_size = 8}:
#
#   awk -f options.awk HEADER.. > options.cc
#
# Compiled with -Wmissing-field-initializers it shows a member that has no initializer. A member may do without one where its
# type has no default, so that everybody must give it.
function without(text, left, right) {  # what is between brackets
  while (match(text, "[" left "][^" left right "]*[" right "]"))
    text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
  return text
}

function add_members(text, n, i, parts, name, initialized) {  # of one declaration
  gsub(/"[^"]*"|'[^']*'/, "0", text)
  text = without(text, "<", ">")
  if (text ~ /^ *(static|using|friend|enum|struct|class|operator|template|bool operator)/ || text ~ /^[^=]*\(/) {
    if (text ~ "^ *(explicit )?" struct " *\\(") aggregate = 0
    return
  }
  text = without(without(text, "(", ")"), "{", "}")
  n = split(text, parts, ",")
  for (i = 1; i <= n; ++i) {
    initialized = parts[i] ~ /=/
    sub(/ *=.*/, "", parts[i])
    name = parts[i]
    gsub(/ +$/, "", name)
    sub(/.*[ *&]/, "", name)
    members[++count] = name
    required[count] = !initialized
  }
}

function print_struct(i, k, given) {
  for (i = 1; i <= count; ++i) {
    if (required[i])
      printf "static_assert(!std::is_default_constructible_v<decltype(%s::%s)>, \"%s::%s wants = {}\");\n", struct, members[i],
             struct, members[i]
    given = ""
    for (k = 1; k <= count; ++k)
      if (required[k] || k == i)
        given = given (given == "" ? "" : ", ") "." members[k] " = given<decltype(" struct "::" members[k] ")>()"
    printf "%s %s_%s() { return {%s}; }\n", struct, struct, members[i], given
  }
}

BEGIN { print "#include <type_traits>" }
FNR == 1 { printf "#include \"%s\"\n", FILENAME }
{ sub(/\/\/.*/, "") }
/^struct [A-Za-z0-9]+(Options|Settings|Spec|Config|Events) \{$/ {
  struct = $2
  text = ""
  count = 0
  aggregate = 1
  next
}
/^\};/ && struct != "" {
  if (aggregate && count > 0) found[++structs] = struct
  for (i = 1; i <= count; ++i) {
    all_members[struct, i] = members[i]
    all_required[struct, i] = required[i]
  }
  counts[struct] = count
  struct = ""
}
struct != "" {
  text = text " " $0
  depth = gsub(/\{/, "{", text) - gsub(/\}/, "}", text)
  if (depth == 0 && text ~ /[;}] *$/) {
    sub(/; *$/, "", text)
    if (text ~ /[^ ]/) add_members(text)
    text = ""
  }
}
END {
  print "using namespace tenon;"
  print "template <class T>"
  print "T given();"
  for (s = 1; s <= structs; ++s) {
    struct = found[s]
    count = counts[struct]
    for (i = 1; i <= count; ++i) {
      members[i] = all_members[struct, i]
      required[i] = all_required[struct, i]
    }
    print_struct()
  }
  if (structs < 50) print "#error the structs of options were not found"
}
