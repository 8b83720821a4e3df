/* tenon/op/spec.h as a backend in C11 has it: the rows found by name, and places that the ABI's own headers state. */
#include "tenon/op/spec.h"

#include <stdio.h>
#include <string.h>

#include "tenon/abi/optimizer.h"

static int failures;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "spec: expected %s\n", what);
  ++failures;
}

static const tenon_op_attribute* attribute(const tenon_op_row* row, const char* name) {
  for (uint32_t i = 0; i < row->n_attributes; ++i)
    if (strcmp(row->attributes[i].name, name) == 0) return &row->attributes[i];
  return NULL;
}

static void finds_rows_by_their_whole_name(void) {
  expect(tenon_op_find("conv", 4) == &tenon_op_rows[TENON_OP_CONV], "the row of conv");
  expect(tenon_op_find("conv_grad_input", 4) == &tenon_op_rows[TENON_OP_CONV], "as many letters as were given");
  expect(tenon_op_find("con", 3) == NULL, "no row of con");
  expect(tenon_op_find("acme.gelu2", 10) == NULL, "no row of another's op");
}

static void has_the_places_of_optimizer_h(void) {
  for (uint32_t i = TENON_OP_SGD_UPDATE; i < TENON_OP_COUNT; ++i) {
    const tenon_op_row* row = &tenon_op_rows[i];
    expect(strcmp(row->category, "update") == 0, "updates at the end");
    expect(strcmp(row->operands[TENON_UPDATE_SCALE].name, "scale") == 0, "scale in its place");
    expect(strcmp(row->operands[TENON_UPDATE_ROWS].name, "rows") == 0, "rows in its place");
  }
  expect((int)TENON_OP_ADAM_UPDATE_M == (int)TENON_UPDATE_SLOTS, "the first slot behind what all updates have");
}

static void says_what_absence_means(void) {
  const tenon_op_row* conv = tenon_op_find("conv_bias_act", 13);
  expect(conv->operands[TENON_OP_CONV_BIAS_ACT_BIAS].flags == TENON_OP_OPTIONAL, "an optional bias");
  expect(conv->operands[TENON_OP_CONV_BIAS_ACT_W].dtypes ==
             (1u << TENON_F32 | 1u << TENON_BF16 | 1u << TENON_F16 | 1u << TENON_F64),
         "filters of floats");
  const tenon_op_attribute* strides = attribute(conv, "strides");
  expect(strides->type == TENON_ATTR_LIST && strides->flags == TENON_OP_OPTIONAL && strides->i64 == 1, "strides of 1");
  expect(strcmp(attribute(conv, "act")->enumeration, "tenon_act") == 0, "act by the numbers of tenon_act");
  expect(attribute(tenon_op_find("batch_norm", 10), "eps")->f64 == 0.001, "eps of 0.001");
  expect(attribute(tenon_op_find("broadcast", 9), "dims")->empty == 1, "no dims");
  expect(attribute(tenon_op_find("softmax", 7), "axis")->flags == 0, "an axis that is always there");
  expect(attribute(tenon_op_find("softmax_cross_entropy", 21), "ignore")->i64 == INT64_MIN, "the least label");
}

static void says_levels(void) {
  int primitives = 0;
  for (uint32_t i = 0; i < TENON_OP_COUNT; ++i) primitives += tenon_op_rows[i].level != 0;
  expect(primitives == 44, "44 primitives");
  expect(tenon_op_find("dot", 3)->level == 1, "dot at level 1");
  expect(tenon_op_find("conv_grad_filter", 16)->level == 2, "conv_grad_filter at level 2");
  expect(tenon_op_find("softmax", 7)->level == 0, "softmax, a composite, at none");
}

int main(void) {
  finds_rows_by_their_whole_name();
  has_the_places_of_optimizer_h();
  says_what_absence_means();
  says_levels();
  return failures != 0;
}
