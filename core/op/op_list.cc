#include "tenon/op_list.h"

#include "op/op.h"

namespace tenon {

std::vector<OpSummary> op_summaries() {
  std::vector<OpSummary> out;
  for (const OpDef* op : all_ops()) out.push_back({op->name, op->version, !op->primitive(), op->signature, op->doc});
  return out;
}

}  // namespace tenon
