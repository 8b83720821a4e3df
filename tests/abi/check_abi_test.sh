#!/bin/sh
# share/check_abi.sh lets through what is appended and nothing else.   check_abi_test.sh ROOT
set -eu
root=$1
check=$root/share/check_abi.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 tried=0
layout=$work/layout.txt
"$check" --layout --headers "$root/sdk/include" >"$layout"

# A history in which version 1.0 is frozen, and headers to change.
fresh() {
  rm -rf "$work/history" "$work/headers"
  mkdir -p "$work/history/1.0" "$work/headers"
  cp -r "$root/sdk/include/tenon" "$work/history/1.0/"
  rm -rf "$work/history/1.0/tenon/plugin"
  echo frozen >"$work/history/1.0/status"
  cp "$layout" "$work/history/1.0/layout.txt"
  (cd "$work/history/1.0" && sha256sum status layout.txt tenon/abi/*.h >SHA256SUMS)
  cp -r "$work/history/1.0/tenon" "$work/headers/"
}
change() { # file sed-script
  sed "$2" "$work/headers/tenon/abi/$1" >"$work/changed"
  if cmp -s "$work/changed" "$work/headers/tenon/abi/$1"; then
    echo "check_abi_test: '$2' changes nothing in $1"
    failures=$((failures + 1))
  fi
  cp "$work/changed" "$work/headers/tenon/abi/$1"
}
minor_1() { change types.h 's/TENON_ABI_MINOR 0u/TENON_ABI_MINOR 1u/'; }
run() { "$check" --headers "$work/headers" --history "$work/history" >"$work/out" 2>&1; }

refused() { # expected text
  tried=$((tried + 1))
  if run; then
    echo "check_abi_test: was accepted, expected: $1"
    failures=$((failures + 1))
  elif ! grep -qF -- "$1" "$work/out"; then
    echo "check_abi_test: expected '$1', found:"
    cat "$work/out"
    failures=$((failures + 1))
  fi
  fresh
}
accepted() { # expected text
  tried=$((tried + 1))
  if ! run || ! grep -qF -- "$1" "$work/out"; then
    echo "check_abi_test: was refused, or does not say '$1':"
    cat "$work/out"
    failures=$((failures + 1))
  fi
  fresh
}
# Swaps line N after a pattern with the next one.
swap() { change "$1" "/$2/{h;d;};/$3/{G;}"; }

fresh
accepted 'version 1.0 (frozen): all of it is still there'

# ---- refused, whatever the minor version ----

# A frozen version is what it was, be the headers changed with it.
change device.h 's/uint32_t domain;/uint64_t domain;/'
cp "$work/headers/tenon/abi/device.h" "$work/history/1.0/tenon/abi/device.h"
"$check" --layout --headers "$work/headers" >"$work/history/1.0/layout.txt"
refused 'version 1.0 is frozen, and its files are not those of that day: layout.txt: FAILED'
rm "$work/history/1.0/SHA256SUMS"
refused 'are not those of that day: sha256sum: SHA256SUMS: No such file or directory'
minor_1; swap device.h 'uint32_t domain;' 'uint32_t host;'
refused 'tenon_unit.domain is at offset 16, it was at 12'
minor_1; swap device.h 'uint64_t memory_bytes;' 'uint64_t max_buffer_bytes;'
refused 'tenon_unit.max_buffer_bytes is in another place among its fellows'
minor_1; change device.h 's/uint32_t domain;/uint64_t domain;/'
refused 'tenon_unit.domain is of type uint64_t, it was uint32_t'
minor_1; change device.h 's/uint32_t domain;/int32_t domain;/'
refused 'tenon_unit.domain is of type int32_t, it was uint32_t'
minor_1; change device.h '/uint32_t domain;/d'
refused 'tenon_unit.domain was removed'
minor_1; change device.h 's/uint32_t domain;/uint32_t realm;/'
refused 'tenon_unit.domain was removed'
minor_1; change device.h 's/uint32_t domain;/uint32_t domain, shelf;/'
refused 'tenon_unit.shelf was put in before the end of tenon_unit'
minor_1; change device.h 's/char name\[64\]/char name[32]/'
refused 'tenon_unit.name is of type char[32], it was char[64]'
minor_1; change types.h 's/TENON_MAX_RANK 8/TENON_MAX_RANK 9/'
refused 'macro TENON_MAX_RANK has changed'
minor_1; change plugin.h '/void (\*buffer_free)/d'
refused 'tenon_backend.buffer_free was removed'
minor_1; change plugin.h 's/void (\*buffer_free)(tenon_buffer\* buffer);/void (*buffer_free)(tenon_device* device, tenon_buffer* buffer);/'
refused 'tenon_backend.buffer_free is of type void(*)(tenon_device* device, tenon_buffer* buffer), it was void(*)(tenon_buffer* buffer)'
minor_1; change plugin.h 's/uint64_t ticket, uint64_t timeout_ns)/uint64_t timeout_ns, uint64_t ticket)/'
refused 'tenon_backend.wait is of type tenon_status(*)(tenon_queue* queue, uint64_t timeout_ns, uint64_t ticket), it was'
minor_1; change plugin.h 's/void (\*device_close)(tenon_device\* device);/tenon_status (*device_close)(tenon_device* device);/'
refused 'tenon_backend.device_close is of type tenon_status(*)(tenon_device* device), it was void(*)(tenon_device* device)'
minor_1; swap plugin.h 'void (\*program_destroy)' 'void (\*buffer_free)'
refused 'tenon_backend.buffer_alloc is at offset'
minor_1; change op.h 's/TENON_COMPARE_EQ = 0, TENON_COMPARE_NE = 1/TENON_COMPARE_EQ = 0, TENON_ABOUT = 7, TENON_COMPARE_NE = 1/'
refused 'TENON_ABOUT was put in before the end of tenon_compare'
minor_1; change op.h 's/TENON_REDUCE_SUM = 0, TENON_REDUCE_PROD = 1/TENON_REDUCE_SUM = 1, TENON_REDUCE_PROD = 0/'
refused 'TENON_REDUCE_PROD is 0, it was 1'
minor_1; change types.h 's/TENON_TIMEOUT = 6,/TENON_TIMEOUT = 16,/'
refused 'TENON_TIMEOUT is 16, it was 6'
minor_1; change types.h '/TENON_TIMEOUT = 6,/d'
refused 'TENON_TIMEOUT was removed'
minor_1; change op.h 's/TENON_ACT_HARD_SWISH = 14 /TENON_ACT_HARD_SWISH = 14, TENON_ACT_NEW = 3/'
refused 'TENON_ACT_NEW has the number of TENON_ACT_LEAKY_RELU'
minor_1; change types.h 's/  const char\* message;/  const char* message; int64_t more;/'
refused 'tenon_status.more: tenon_status is frozen'
minor_1; change types.h 's/  uint64_t u64;/  uint64_t u64; void* p;/'
refused 'tenon_scalar.p: tenon_scalar is frozen'
minor_1; change device.h 's/TENON_UNIT_EMULATED (1ull << 1)/TENON_UNIT_EMULATED (1ull << 7)/'
refused 'macro TENON_UNIT_EMULATED has changed'
minor_1; change device.h 's/^#define TENON_DESC_HOST .*/&\n#define TENON_DESC_OTHER (1ull << 0)/'
refused 'TENON_DESC_OTHER takes the bit of another flag: TENON_DESC_HOST'
minor_1; change device.h '/^#define TENON_UNIT_EMULATED/d'
refused 'macro TENON_UNIT_EMULATED was removed'
minor_1; change types.h 's/(offsetof(type, field) + sizeof/(sizeof/'
refused 'macro TENON_SIZE has changed'
minor_1; change plugin.h 's/TENON_NOTE_OWNER "Tenon"/TENON_NOTE_OWNER "Beam"/'
refused 'macro TENON_NOTE_OWNER has changed'
minor_1; change plugin.h 's/^tenon_status tenon_backend_init(/int tenon_backend_init(/'
refused 'function tenon_backend_init has changed'
minor_1; change device.h 's/typedef struct tenon_verdict {/typedef union tenon_verdict {/'
refused 'tenon_verdict is a union, it was a struct'
minor_1; change types.h 's/^typedef struct tenon_queue tenon_queue;/typedef uint64_t tenon_queue;/'
refused 'typedef struct tenon_queue tenon_queue was removed'
change types.h 's/TENON_ABI_MAJOR 1u/TENON_ABI_MAJOR 2u/'
refused 'macro TENON_ABI_MAJOR has changed'
# a new field in what was padding: a reader cannot tell whether it is there
sed 's/  uint32_t n_allocations;/  uint32_t n_allocations;/;/  uint32_t reserved;/d' "$work/history/1.0/tenon/abi/device.h" >"$work/padded"
cp "$work/padded" "$work/history/1.0/tenon/abi/device.h"
"$check" --layout --headers "$work/history/1.0" >"$work/history/1.0/layout.txt"
minor_1
refused 'tenon_info.reserved lies in what was padding of tenon_info'

# ---- accepted, under a higher minor version ----
minor_1; change device.h 's/  const tenon_feed\* feed; .*/&\n  uint64_t deadline_ns;/'
accepted 'since 1.0: tenon_run.deadline_ns'
minor_1; change plugin.h 's|  tenon_status (\*describe).*|&\n  tenon_status (*abort)(tenon_queue* queue);|'
accepted 'since 1.0: tenon_backend.abort'
minor_1; change op.h 's/TENON_ACT_HARD_SWISH = 14 /TENON_ACT_HARD_SWISH = 14, TENON_ACT_NEW = 15/'
accepted 'since 1.0: TENON_ACT_NEW'
minor_1; change device.h 's/^#define TENON_DESC_HOST .*/&\n#define TENON_DESC_PINNED (1ull << 1)/'
accepted 'since 1.0: macro TENON_DESC_PINNED'
minor_1; change device.h 's/^typedef struct tenon_sink {/typedef struct tenon_new {\n  uint64_t struct_size;\n} tenon_new;\n&/'
accepted 'since 1.0: tenon_new'
minor_1; change device.h 's/  char version\[64\];/  char version[64];\n  uint64_t cores, clusters;/'
accepted 'since 1.0: tenon_unit.clusters'
change plugin.h 's/(\*buffer_free)(tenon_buffer\* buffer)/(*buffer_free)(tenon_buffer* b)/'
refused 'tenon_backend.buffer_free is of type void(*)(tenon_buffer* b), it was void(*)(tenon_buffer* buffer)'
change device.h 's/which unit/WHICH unit/;s/feeds it/feeds the unit/'
accepted 'version 1.0 (frozen): all of it is still there'

# ---- the version has to say so ----
change device.h 's/  const tenon_feed\* feed; .*/&\n  uint64_t deadline_ns;/'
refused 'version 1.0 is frozen: tenon_run.deadline_ns was added; raise TENON_ABI_MINOR'
echo draft >"$work/history/1.0/status"; change device.h 's/uint32_t domain;/uint64_t domain;/'
refused 'version 1.0 (draft): tenon_unit.domain is of type uint64_t, it was uint32_t; take a new snapshot (share/check_abi.sh --snapshot) and say why in CHANGELOG.md'
sed 's/tenon_unit.kind 8 4/tenon_unit.kind 12 4/' "$layout" >"$work/history/1.0/layout.txt"
refused 'layout.txt is not the layout of the headers beside it'
rm "$work/history/1.0/status"
refused 'says in no status whether it is frozen or a draft'
rm -r "$work/history/1.0"
refused 'nothing was published in'
change types.h 's/^typedef struct tenon_status {/typedef struct tenon_status /'
refused 'error'

# A draft may be written down anew, a frozen version may not.
tried=$((tried + 2))
change device.h 's/uint32_t domain;/uint64_t domain;/'
if "$check" --snapshot --headers "$work/headers" --history "$work/history" >"$work/out" 2>&1; then
  echo 'check_abi_test: a frozen version was written anew'
  failures=$((failures + 1))
fi
echo draft >"$work/history/1.0/status"
"$check" --snapshot --headers "$work/headers" --history "$work/history" >"$work/out" 2>&1 && run || {
  echo 'check_abi_test: a draft cannot be written anew'
  failures=$((failures + 1))
}

# A draft is frozen when it is whole and has its binaries, and once.
freezes() { # expected exit code, expected text
  tried=$((tried + 1))
  code=0
  "$check" --freeze --headers "$work/headers" --history "$work/history" >"$work/out" 2>&1 || code=$?
  if [ $code -ne "$1" ] || ! grep -qF -- "$2" "$work/out"; then
    echo "check_abi_test: --freeze: expected exit code $1 and '$2', found $code and: $(cat "$work/out")"
    failures=$((failures + 1))
  fi
}
fresh
echo draft >"$work/history/1.0/status"
freezes 1 'in it example.so.gz, skeleton.so.gz, hashes or headers.sha256'
made=$work/history/1.0/x86_64-linux
mkdir "$made"
echo >"$made/example.so.gz"; echo >"$made/skeleton.so.gz"; echo >"$made/hashes"; echo 0 >"$made/headers.sha256"
freezes 1 'lacks ops.txt'
echo >"$work/history/1.0/ops.txt"
freezes 1 'was built with other headers'
cat "$work"/history/1.0/tenon/abi/*.h | sha256sum | cut -d ' ' -f 1 >"$made/headers.sha256"
cp "$work/headers/tenon/abi/device.h" "$work/kept.h"
change device.h 's/uint32_t domain;/uint64_t domain;/'
freezes 1 'tenon_unit.domain is of type uint64_t'
cp "$work/kept.h" "$work/headers/tenon/abi/device.h"
change device.h 's/What failed/What has failed/;s/Undefined contents/No contents/;s/The first failure of/The failure of/'
freezes 1 'device.h is not'
cp "$work/kept.h" "$work/headers/tenon/abi/device.h"
freezes 0 'version 1.0 (frozen): all of it is still there'
freezes 1 'version 1.0 is frozen; what is frozen has to be a draft'
tried=$((tried + 1))
if "$root/share/keep_abi_binaries.sh" --history "$work/history" "$work" >"$work/out" 2>&1 ||
  ! grep -qF 'version 1.0 is frozen; it keeps the binaries of that day' "$work/out"; then
  echo "check_abi_test: keep_abi_binaries.sh of a frozen version printed $(cat "$work/out")"
  failures=$((failures + 1))
fi

# An option without its value is answered with how it is called.
for option in --headers --history; do
  code=0
  "$check" $option >"$work/out" 2>&1 || code=$?
  if [ $code -ne 2 ] || ! grep -q 'check_abi.sh \[--headers DIR\]' "$work/out"; then
    echo "check_abi_test: $option without a value: exit code $code, printed $(cat "$work/out")"
    failures=$((failures + 1))
  fi
done

echo "check_abi_test: $tried changes tried, $failures failures"
[ $failures -eq 0 ]
