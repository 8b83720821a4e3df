// Recurrent layers that keep their states from call to call. Numbers: Keras 3.15.1.
#include <gtest/gtest.h>

#include "tenon/recurrent.h"
#include "unit/model/model_data_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

Array two_sequences() { return Array(pattern(2 * 3 * 2, 7, 11, 5, 4), {2, 3, 2}); }

template <class Options>
Options stateful_of(int64_t units) {
  Options o;
  o.units = units;
  o.kernel_initializer = o.recurrent_initializer = &patterned;
  o.stateful = true;
  return o;
}

void expect_close(const Array& found, const std::vector<float>& expected) {
  const std::vector<float> values = found.to<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6) << i;
}

Sequential compiled(const AnyLayer& layer) {
  Sequential model({layer});
  model.compile({.loss = "mse", .strategy = Strategy("cpu")});
  return model;
}

TEST(Stateful, GoesOnWhereTheLastCallEndedAsKeras) {
  Sequential model = compiled(LSTM(stateful_of<LSTMOptions>(2)));
  const std::vector<float> first = {-0.10720319f, -0.02231998f, -0.0980906f, 0.01647227f};
  expect_close(model.predict_on_batch(two_sequences())[0], first);
  expect_close(model.predict_on_batch(two_sequences())[0], {-0.16694595f, -0.03446335f, -0.15033169f, 0.01832542f});
  model.reset_states();
  expect_close(model.predict_on_batch(two_sequences())[0], first);
  const std::vector<std::string> names = model.weights();
  EXPECT_EQ(names[0], "lstm/rnn_state");
  EXPECT_EQ(names[1], "lstm/rnn_state_1");
}

TEST(Stateful, BothWaysAsKeras) {
  Sequential model = compiled(Bidirectional(GRU(stateful_of<GRUOptions>(2))));
  expect_close(model.predict_on_batch(two_sequences())[0], {-0.09361197f, 0.03613598f, -0.3132396f, 0.11116093f,
                                                            0.02294408f, -0.10955331f, 0.12813683f, 0.05356576f});
  expect_close(model.predict_on_batch(two_sequences())[0],
               {-0.11719659f, 0.0374681f, -0.3864258f, 0.1174224f, 0.0341187f, -0.13050285f, 0.15108128f, 0.06925882f});
}

// A sequence in two calls is as in one.
TEST(Stateful, ASequenceMayComeInParts) {
  const std::vector<float> x = pattern(6 * 2, 5, 13, 6, 4);
  const auto steps = [&](int64_t begin, int64_t end) {
    return Array(std::vector<float>(x.begin() + 2 * begin, x.begin() + 2 * end), {1, end - begin, 2});
  };
  SimpleRNNOptions o = stateful_of<SimpleRNNOptions>(3);
  Sequential parts = compiled(SimpleRNN(o));
  o.stateful = false;
  Sequential whole = compiled(SimpleRNN(o));
  parts.predict_on_batch(steps(0, 4));
  EXPECT_EQ(parts.predict_on_batch(steps(4, 6))[0].to<float>(), whole.predict_on_batch(steps(0, 6))[0].to<float>());
}

// States are taken up in training, too, and no gradient goes back through them into what an earlier call did.
TEST(Stateful, TrainsAndIsSavedWithItsStates) {
  Sequential model({GRU(stateful_of<GRUOptions>(2)), Dense(dense_of(1))});
  model.compile({.optimizer = SGD(0.1), .loss = "mse", .strategy = Strategy("cpu")});
  const Array y({0.5f, -0.5f}, {2, 1});
  model.train_on_batch(two_sequences(), y);
  const std::vector<float> state = model.strategy().read<float>("gru/rnn_state");
  EXPECT_NE(state, std::vector<float>(4, 0));
  model.test_on_batch(two_sequences(), y);
  EXPECT_NE(model.strategy().read<float>("gru/rnn_state"), state);
}

// A state has a row an example of the batch, which a model's Input() does not say.
TEST(Stateful, AnInputLeavesTheBatchToTheFirstCall) {
  Sequential model({Input({3, 2}), LSTM(stateful_of<LSTMOptions>(2))});
  model.compile({.loss = "mse", .strategy = Strategy("cpu")});
  EXPECT_EQ(model.weights().size(), 3u);
  model.summary_text();
  expect_close(model.predict_on_batch(two_sequences())[0], {-0.10720319f, -0.02231998f, -0.0980906f, 0.01647227f});
  expect_close(model.predict_on_batch(two_sequences())[0], {-0.16694595f, -0.03446335f, -0.15033169f, 0.01832542f});
}

TEST(Stateful, SaysWhatItCannotDo) {
  Sequential model = compiled(LSTM(stateful_of<LSTMOptions>(2)));
  const auto message = [](const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& e) {
      return e.status().message();
    }
    return std::string("no error");
  };
  model.predict_on_batch(two_sequences());
  EXPECT_NE(message([&] { model.predict_on_batch(two_sequences().rows(0, 1)); }).find("'lstm/rnn_state'"),
            std::string::npos);
  model.predict_on_batch(two_sequences());  // what was there stays usable
  Sequential spread({LSTM(stateful_of<LSTMOptions>(2))});
  spread.compile({.loss = "mse", .strategy = Strategy("tpu-emulator:v2-8")});
  EXPECT_NE(message([&] {
              spread.predict(Array(pattern(8 * 3 * 2, 7, 11, 5, 4), {8, 3, 2}));
            }).find("lstm 'lstm': is stateful, on 8 units"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
