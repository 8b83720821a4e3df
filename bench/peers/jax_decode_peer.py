#!/usr/bin/env python3
"""How fast JAX writes with the Transformer of `tenon bench decode`: the same sizes, weights drawn, f32. Encoder, search and caches of
keys and values are one jitted function, its loop a `fori_loop`; the keys and values of the encoder's output are projected once.

    jax_decode_peer.py [base|big|tiny] [--batch_size 32] [--beam_size 4] [--length 32] [--threads 2]

Prints a line of JSON, the least time of some rounds, as `tenon bench decode --json` does. No token ends a sentence: all beams are as long,
and no length penalty would change their order. It starts itself anew in the environment that compare.py gives to peers.
"""

import argparse
import functools
import json
import math
import os
import sys
import time

import numpy as np
from common import cores
from compare import ENVIRONMENT
from parameters import positions

VOCABULARY, LAYERS = 33708, 6
GROUPS = 106  # of 318 tokens
SIZES = {"tiny": (32, 4, 256), "base": (512, 8, 2048), "big": (1024, 16, 4096)}


def import_jax():
    """After the cores are chosen: the pool of threads is as large as the cores that are allowed."""
    import jax
    import jax.numpy as jnp
    globals().update(jax=jax, jnp=jnp, lax=jax.lax)


def drawn(hidden, filter_size):
    """Weights: of a linear layer the matrix and the bias, of a norm gamma and beta. Those that read the same lie in one matrix."""
    random, norm = np.random.default_rng(0), (np.ones(hidden, np.float32), np.zeros(hidden, np.float32))

    def matrix(*shape):
        return (random.standard_normal(shape) * hidden**-0.5).astype(np.float32)

    def linear(inputs, outputs):
        return matrix(inputs, outputs), np.zeros(outputs, np.float32)

    def layer(crosses):
        made = {"norm": norm, "qkv": linear(hidden, 3 * hidden), "out": linear(hidden, hidden)}
        if crosses:
            made |= {"cross_norm": norm, "cross_q": linear(hidden, hidden), "cross_kv": linear(hidden, 2 * hidden)}
            made["cross_out"] = linear(hidden, hidden)
        return made | {"filter_norm": norm, "filter": linear(hidden, filter_size), "filter_out": linear(filter_size, hidden)}

    sides = {side: [layer(side == "decoder") for _ in range(LAYERS)] for side in ("encoder", "decoder")}
    return {**sides, "table": matrix(VOCABULARY, hidden), "encoder_norm": norm, "decoder_norm": norm}


def linear(x, weights):
    return x @ weights[0] + weights[1]


def norm(x, weights):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-6) * weights[0] + weights[1]


def feed_forward(x, layer):
    return x + linear(jax.nn.relu(linear(norm(x, layer["filter_norm"]), layer["filter"])), layer["filter_out"])


def split(x, parts, heads):
    """Of [batch, length, parts * hidden] so many [batch, heads, length, depth]."""
    return [t.reshape(*t.shape[:2], heads, -1).swapaxes(1, 2) for t in jnp.split(x, parts, -1)]


def attention(q, k, v, known=None):
    """Of [batch, heads, length, depth] to [batch, length, hidden]; `known`: which of the keys there are."""
    weights = jnp.einsum("bhqd,bhkd->bhqk", q * q.shape[-1] ** -0.5, k)
    weights = weights if known is None else jnp.where(known, weights, -1e9)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(weights), v).swapaxes(1, 2)
    return mixed.reshape(*mixed.shape[:2], -1)


def embed(weights, ids, places):
    return weights["table"][ids] * math.sqrt(weights["table"].shape[1]) + places


def encode(weights, sentences, heads):
    """Of each layer of the decoder the keys and values of the encoder's output."""
    x = embed(weights, sentences, positions(sentences.shape[1], weights["table"].shape[1]))
    for layer in weights["encoder"]:
        x = x + linear(attention(*split(linear(norm(x, layer["norm"]), layer["qkv"]), 3, heads)), layer["out"])
        x = feed_forward(x, layer)
    x = norm(x, weights["encoder_norm"])
    return [split(linear(x, layer["cross_kv"]), 2, heads) for layer in weights["decoder"]]


def next_logits(weights, ids, place, step, encoded, caches, heads):
    """Behind the tokens [batch, beams] of a step: logits [batch, beams, vocabulary] and the caches with their keys and values."""
    batch, beams = ids.shape
    x, grown = embed(weights, ids.reshape(-1, 1), place), []
    for layer, (keys, values), read in zip(weights["decoder"], caches, encoded):
        q, k, v = split(linear(norm(x, layer["norm"]), layer["qkv"]), 3, heads)
        grown.append([lax.dynamic_update_slice(all_, now, (0, 0, step, 0)) for all_, now in ((keys, k), (values, v))])
        x = x + linear(attention(q, *grown[-1], jnp.arange(keys.shape[2]) <= step), layer["out"])
        [q] = split(linear(norm(x, layer["cross_norm"]), layer["cross_q"]).reshape(batch, beams, -1), 1, heads)
        x = x + linear(attention(q, *read).reshape(x.shape), layer["cross_out"])
        x = feed_forward(x, layer)
    return (norm(x, weights["decoder_norm"])[:, 0] @ weights["table"].T).reshape(batch, beams, -1), grown


def likeliest(logits):
    """Of each beam as many tokens as there are beams: logits and ids. They lie in the groups whose maxima are greatest: XLA finds
    these sooner than it sorts, or takes argmax of, the whole vocabulary."""
    beams, groups = logits.shape[1], logits.reshape(*logits.shape[:2], GROUPS, -1)
    _, chosen = lax.top_k(groups.max(-1), beams)
    found, places = lax.top_k(jnp.take_along_axis(groups, chosen[..., None], 2).reshape(*chosen.shape[:2], -1), beams)
    size = groups.shape[-1]
    return found, jnp.take_along_axis(chosen, places // size, 2) * size + places % size


def best(logits, scores):
    """The most probable beams: scores, which beam each goes on from and by which token, all [batch, beams]."""
    found, ids = likeliest(logits)
    sums = scores[..., None] + found - jax.nn.logsumexp(logits, -1, keepdims=True)
    scores, places = lax.top_k(sums.reshape(scores.shape[0], -1), scores.shape[1])
    return scores, places // scores.shape[1], jnp.take_along_axis(ids.reshape(scores.shape[0], -1), places, 1)


def write(weights, sentences, heads, beams, length):
    """The tokens [batch, length] of the best beam."""
    batch, hidden = sentences.shape[0], weights["table"].shape[1]
    encoded, places = encode(weights, sentences, heads), jnp.array(positions(length, hidden))
    empty = jnp.zeros((batch * beams, heads, length, hidden // heads))

    def step(n, state):
        ids, written, scores, caches = state
        logits, caches = next_logits(weights, ids, places[n], n, encoded, caches, heads)
        if beams == 1:
            ids = likeliest(logits)[1][..., 0]
        else:
            scores, origins, ids = best(logits, scores)
            rows = (origins + jnp.arange(batch)[:, None] * beams).reshape(-1)
            caches = jax.tree.map(lambda cache: cache.at[rows].get(mode="promise_in_bounds"), caches)
            written = jnp.take_along_axis(written, origins[..., None], 1)
        return ids, lax.dynamic_update_slice(written, ids[..., None], (0, 0, n)), scores, caches

    first = jnp.zeros((batch, beams), int), jnp.zeros((batch, beams, length), int)
    scores = jnp.tile(jnp.where(jnp.arange(beams) == 0, 0, -1e9), (batch, 1))  # at first all beams are alike
    return lax.fori_loop(0, length, step, (*first, scores, [[empty, empty] for _ in range(LAYERS)]))[1][:, 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("param_set", nargs="?", default="base", choices=SIZES)
    for name, value in (("batch_size", 32), ("beam_size", 4), ("source_length", 32), ("length", 32), ("threads", 2), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    flags = parser.parse_args()
    if os.environ.get("GLIBC_TUNABLES") != ENVIRONMENT["GLIBC_TUNABLES"]:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    os.sched_setaffinity(0, cores(flags.threads))
    os.environ["OMP_NUM_THREADS"] = str(flags.threads)
    import_jax()
    hidden, heads, filter_size = SIZES[flags.param_set]
    weights = jax.tree.map(jnp.array, drawn(hidden, filter_size))
    sentences = jnp.array(np.random.default_rng(1).integers(2, VOCABULARY, (flags.batch_size, flags.source_length)))
    function = jax.jit(functools.partial(write, heads=heads, beams=flags.beam_size, length=flags.length))
    function(weights, sentences).block_until_ready()
    least = float("inf")
    for _ in range(flags.rounds + 1):
        begun = time.perf_counter()
        found = function(weights, sentences).block_until_ready()
        least = min(least, time.perf_counter() - begun)
    result = {"case": f"decode_{flags.param_set}", "peer": f"jax {jax.__version__}", "beam_size": flags.beam_size}
    result |= {"batch_size": flags.batch_size, "steps": found.shape[1], "ms": least * 1e3}
    print(json.dumps(result | {"tokens_per_second": found.size / least, "threads": flags.threads}))


if __name__ == "__main__":
    main()
