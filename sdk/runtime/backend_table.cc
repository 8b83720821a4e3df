#include "runtime/backend_table.h"

#include "tenon/op/table.h"
#include "tenon/plugin/entry.h"

namespace tenon::plugin {

void check_ops(const char* backend, const KernelTable& table) {
  std::string found;  // the first by name
  for (const std::string& op : table.ops()) {
    const bool own = op.find('.') != std::string::npos || (backend && op.rfind(backend, 0) == 0);
    if (!own && !op::find(op) && (found.empty() || op < found)) found = op;
  }
  if (!found.empty())
    throw Error(TENON_INVALID, "tenon_backend_init: the table has op '" + found + "', which is none of Tenon's");
}

}  // namespace tenon::plugin
