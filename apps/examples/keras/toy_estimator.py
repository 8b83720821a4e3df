"""TPUEstimator's first program (toy_estimator.cc), which TensorFlow 2.15 was the last to have: pip install tensorflow==2.15."""

from example import run

import tensorflow.compat.v1 as tf


def model_fn(features, labels, mode, params):
    y = tf.layers.dense(features["features"], 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions={"predictions": y})
    loss = tf.losses.mean_squared_error(labels, y)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)
    optimizer = tf.train.AdagradOptimizer(0.05)
    if params["use_tpu"]:
        optimizer = tf.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(params):
    data = tf.data.Dataset.from_tensors(({"features": [1.0, 1.5]}, [0.3]))
    return data.repeat().batch(params["batch_size"], drop_remainder=True)


def train(flags):
    tpu_config = tf.estimator.tpu.TPUConfig(iterations_per_loop=1)
    config = tf.estimator.tpu.RunConfig(tf_random_seed=flags.seed, tpu_config=tpu_config)
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn, config=config, params={"use_tpu": False}, use_tpu=False, train_batch_size=8, eval_batch_size=8
    )
    estimator.train(input_fn, steps=1)
    result = estimator.evaluate(input_fn, steps=1)
    return {"loss": result["loss"], "global_step": result["global_step"]}


if __name__ == "__main__":
    run(train)
