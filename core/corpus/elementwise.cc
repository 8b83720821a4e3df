#include "corpus/corpus.h"

namespace tenon::corpus {

void add_elementwise_cases(Cases& cases) {
  cases.push_back(op_case({"add", "f32[7,13]", {uniform(DType::kF32, {7, 13}, 1), uniform(DType::kF32, {7, 13}, 2)},
                           [](const Tensors& x) { return Tensors{add(x[0], x[1])}; }}));
  cases.push_back(op_case({"softmax", "f32[5,33] axis 1", {uniform(DType::kF32, {5, 33}, 1, -6, 6)},
                           [](const Tensors& x) { return Tensors{softmax(x[0], 1)}; }}));
}

void add_movement_cases(Cases&) {}

}  // namespace tenon::corpus
