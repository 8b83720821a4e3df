#include "tenon/op_list.h"

#include "op/op.h"

namespace tenon {

std::vector<OpSummary> op_summaries() {
  std::vector<OpSummary> out;
  for (const bool primitive : {true, false})
    for (const OpDef* op : all_ops())
      if (op->primitive() == primitive)
        out.push_back(
            {std::string(op->name), op->version, !primitive, std::string(op->row.signature), std::string(op->row.doc)});
  return out;
}

}  // namespace tenon
