#!/bin/sh
# Headers of a version to come: a higher minor version, every struct that may grow larger by two fields, a new entry, a
# new number in an enum.   grow_headers.sh FROM/tenon/abi TO/tenon/abi
set -eu
mkdir -p "$2"
for file in "$1"/*.h; do
  awk '
    /^typedef struct tenon_(status|array|text|range|point) / { frozen = 1 }
    /^(typedef )?struct tenon_[a-z]+ \{/ && !frozen { inside = 1 }
    /^}/ { if (inside) { if (backend) print "  tenon_status (*future_entry)(tenon_device* device);"; print "  uint64_t future_one, future_two;" } inside = frozen = backend = 0 }
    /^struct tenon_backend \{/ { backend = 1 }
    { sub(/TENON_ABI_MINOR 0u/, "TENON_ABI_MINOR 1u"); sub(/TENON_BOOL = 8/, "TENON_BOOL = 8, TENON_FUTURE = 9"); print }
  ' "$file" >"$2/$(basename "$file")"
done
grep -q 'TENON_ABI_MINOR 1u' "$2/types.h"
