#!/bin/sh
# Every test that share/doc/conformance.md names is one that the suite has.
#   contract.sh TENON_CONFORM CONFORMANCE.md
set -u
names=$("$1" --list) || exit 1
wrong=0
while read -r name; do
  printf '%s\n' "$names" | grep -qF -e "$name" && continue
  echo "$2: no test is named like '$name'"
  wrong=1
done <<END
$(grep '^|' "$2" | grep -oE '`(load|device|memory|queue|program|threads|errors|feed|collectives|leaks|determinism|random|op|composite|gradient|optimizer|capability|sampled)/[^`]*`' | tr -d '`' | grep -v OP/DTYPE)
END
exit $wrong
