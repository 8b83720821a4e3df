// A backend in ordinary memory that breaks the rule it is told to, for tests of the validation layer.
#pragma once

#include <map>
#include <string>

#include "tenon/abi/plugin.h"

namespace tenon::fake {

// What the backend does wrong ("copy-ticket-zero"), from now on; "" nothing. And entries called since.
void set_fault(const std::string& fault);
extern std::map<std::string, int> calls;
// Units are asynchronous: work completes when the test says so.
void set_async(bool async);
void complete_all();
// Ends the thread that a fault may have started.
void join();

// A table whose `self` is a number of its own; devices have two units of domain 0, one of domain 1.
tenon_backend make(const char* name);
tenon_status init(const tenon_host* host, tenon_backend* out);

// What a fault kept that ends in "-late".
void call_late();

}  // namespace tenon::fake
