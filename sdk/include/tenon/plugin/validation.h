// A layer that holds both sides of the C ABI to their contract on every call, and names what is broken.
//
// It puts a table of its own over a backend's. The handles that it gives out are numbers, never given twice
// and never memory: what was freed, what belongs to another device or backend, and what was never a handle is
// known as such and not touched.
//
// A violation is one line that says whose it is:
//   tenon: the host broke the contract in copy: frees buffer #3 twice
//   backend cpu broke the contract in run: gave ticket 4, expected more than 4
// What the host breaks is answered with TENON_ABI and that line; the backend is not called. What the backend
// breaks is answered so after its call. Both are reported. Entries without a status only report, and do
// nothing. After a violation by the backend what it made is left alone.
//
// Results and their bits are those of the backend. Extensions are not shown. Tables live for ever. Threads: as
// for the ABI. C++17; nothing of the core is needed.
#pragma once

#include "tenon/abi/plugin.h"

namespace tenon::plugin {

// Fills `out` with a table that checks and forwards to `inner`, which is copied. TENON_ABI: `inner` is not
// whole. TENON_UNSUPPORTED: this process has 32 layers already.
tenon_status validate_backend(const tenon_backend& inner, tenon_backend* out);

// Calls `init` as it would be called with `host`, through a table that checks what the backend asks of the host
// (and the host's answers) from then on: put validate_backend over what it fills. `name` is for the lines.
using BackendInit = tenon_status (*)(const tenon_host*, tenon_backend*);
tenon_status validate_init(BackendInit init, const tenon_host& host, const char* name, tenon_backend* out);

// Where lines go, on the thread that met the violation; NULL: stderr, the first 100 of them. Set it before
// the first call.
void report_violations_to(void (*sink)(void* ctx, const char* line), void* ctx);

// Violations of both sides since the process began.
uint64_t violation_count();

}  // namespace tenon::plugin
