#include "corpus/corpus.h"

#include <set>

#include "base/strings.h"

namespace tenon::corpus {

Cases all_cases() {
  Cases cases;
  for (const auto add :
       {add_elementwise_cases, add_cast_cases,      add_activation_cases, add_movement_cases,      add_indexed_cases,
        add_contraction_cases, add_pooling_cases,   add_reduction_cases,  add_normalization_cases, add_softmax_cases,
        add_attention_cases,   add_recurrent_cases, add_image_cases,      add_update_cases,        add_drawn_cases,
        add_large_cases,       add_gradient_cases,  add_ten_step_cases,   add_training_cases,      add_catalogue_cases})
    add(cases);
  std::set<std::string> names;
  for (const Case& c : cases)
    if (!names.insert(cat(static_cast<int>(c.kind), " ", c.op, " ", c.name)).second)
      fail(c.op, " '", c.name, "' is there twice");
  return cases;
}

}  // namespace tenon::corpus
