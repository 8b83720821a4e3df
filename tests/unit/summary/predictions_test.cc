#include "tenon/predictions.h"

#include <gtest/gtest.h>

#include "tenon/status.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

std::string refusal(const Predictions& predictions) {
  const TemporaryDirectory directory;
  try {
    write_predictions(directory / "p.csv", predictions);
  } catch (const Error& e) {
    EXPECT_EQ(directory.entries(), 0u);
    return e.what();
  }
  return "no error";
}

TEST(Predictions, AreATableAsTenonPredictWritesIt) {
  const TemporaryDirectory directory;
  const Array probabilities({0.25f, 0.5f, 0.25f, 0.125f, 0.125f, 0.75f}, {2, 3});
  write_predictions(directory / "p.csv", {probabilities, {0, 2}, {"a", "b", "c, \"d\""}});
  EXPECT_EQ(directory.read("p.csv"),
            "row,classid,class,labelid,label,probability_a,probability_b,\"probability_c, \"\"d\"\"\"\n"
            "0,1,b,0,a,0.25,0.5,0.25\n"
            "1,2,\"c, \"\"d\"\"\",2,\"c, \"\"d\"\"\",0.125,0.125,0.75\n");
  write_predictions(directory / "p.csv", {probabilities, {0, 2}, {"a", "b", "c"}, {"x/1.jpg", "x/2.jpg"}});
  EXPECT_EQ(directory.read("p.csv"),
            "row,classid,class,labelid,label,image,probability_a,probability_b,probability_c\n"
            "0,1,b,0,a,x/1.jpg,0.25,0.5,0.25\n"
            "1,2,c,2,c,x/2.jpg,0.125,0.125,0.75\n");
}

TEST(Predictions, ThatDoNotFitAreRefused) {
  const Array two({0.5f, 0.5f}, {1, 2});
  EXPECT_EQ(refusal({two, {0, 1}, {"a", "b"}}),
            "write_predictions: probabilities are f32[1,2], expected floats [2,2] as there are labels and classes");
  EXPECT_EQ(refusal({Array({1, 0}, {1, 2}), {0}, {"a", "b"}}),
            "write_predictions: probabilities are i32[1,2], expected floats [1,2] as there are labels and classes");
  EXPECT_EQ(refusal({two, {2}, {"a", "b"}}), "write_predictions: the label of row 0 is 2, expected 0 to 1");
  EXPECT_EQ(refusal({two, {0}, {"a", "b"}, {"x", "y"}}), "write_predictions: 2 images, expected 1 as there are labels");
}

}  // namespace
}  // namespace tenon
