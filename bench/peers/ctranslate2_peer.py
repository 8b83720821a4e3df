#!/usr/bin/env python3
"""How fast CTranslate2 writes with the Transformer of `tenon bench decode`: the same sizes, weights drawn, f32.

    ctranslate2_peer.py [base|big|tiny] [--batch_size 32] [--beam_size 4] [--length 32] [--threads 2]

Prints a line of JSON, the least time of some rounds, as `tenon bench decode --json` does.
"""

import argparse
import json
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

VOCABULARY, LAYERS = 33708, 6
SIZES = {"tiny": (32, 4, 256), "base": (512, 8, 2048), "big": (1024, 16, 4096)}


class Drawn:
    """A model of drawn weights."""

    def __init__(self, hidden, heads, filter_size):
        self.random, self.hidden = np.random.default_rng(0), hidden
        self.spec = transformer_spec.TransformerSpec.from_config(
            (LAYERS, LAYERS), heads, pre_norm=True, activation=common_spec.Activation.RELU
        )
        embeddings = self.draw(VOCABULARY, hidden)
        for side in (self.spec.encoder, self.spec.decoder):
            table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
            table.weight = embeddings
            side.position_encodings.encodings = np.zeros((1024, hidden), np.float32)
            self.norm(side.layer_norm)
            for layer in side.layer:
                self.attention(layer.self_attention, [3 * hidden, hidden])
                if side is self.spec.decoder:
                    self.attention(layer.attention, [hidden, 2 * hidden, hidden])
                self.norm(layer.ffn.layer_norm)
                self.linear(layer.ffn.linear_0, filter_size, hidden)
                self.linear(layer.ffn.linear_1, hidden, filter_size)
        self.spec.decoder.projection.weight = embeddings
        self.spec.decoder.projection.bias = np.zeros(VOCABULARY, np.float32)

    def draw(self, *shape):
        return (self.random.standard_normal(shape) * shape[-1] ** -0.5).astype(np.float32)

    def norm(self, spec):
        spec.gamma, spec.beta = np.ones(self.hidden, np.float32), np.zeros(self.hidden, np.float32)

    def linear(self, spec, outputs, inputs):
        spec.weight, spec.bias = self.draw(outputs, inputs), np.zeros(outputs, np.float32)

    def attention(self, spec, outputs):
        self.norm(spec.layer_norm)
        for linear, width in zip(spec.linear, outputs):
            self.linear(linear, width, self.hidden)

    def save(self, directory):
        tokens = ["<blank>", "<s>", "</s>", "<unk>"] + [f"t{i}" for i in range(VOCABULARY - 4)]
        self.spec.register_source_vocabulary(tokens)
        self.spec.register_target_vocabulary(tokens)
        self.spec.validate()
        self.spec.optimize(quantization=None)
        self.spec.save(directory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("param_set", nargs="?", default="base", choices=SIZES)
    for name, value in (("batch_size", 32), ("beam_size", 4), ("source_length", 32), ("length", 32), ("threads", 2), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=value)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        Drawn(*SIZES[flags.param_set]).save(directory)
        translator = ctranslate2.Translator(
            directory, device="cpu", intra_threads=flags.threads, inter_threads=1, compute_type="float32"
        )
    random = np.random.default_rng(1)
    sentences = [[f"t{i}" for i in random.integers(0, VOCABULARY - 4, flags.source_length - 1)] for _ in range(flags.batch_size)]
    least = float("inf")
    for _ in range(flags.rounds + 1):
        begun = time.perf_counter()
        found = translator.translate_batch(
            sentences,
            beam_size=flags.beam_size,
            max_decoding_length=flags.length,
            min_decoding_length=flags.length,
            max_batch_size=flags.batch_size,
            batch_type="examples",
            length_penalty=0.6,
        )
        least = min(least, time.perf_counter() - begun)
    tokens = sum(len(one.hypotheses[0]) for one in found)
    print(
        json.dumps(
            {
                "case": f"decode_{flags.param_set}",
                "peer": f"ctranslate2 {ctranslate2.__version__}",
                "beam_size": flags.beam_size,
                "batch_size": flags.batch_size,
                "steps": tokens // flags.batch_size,
                "ms": least * 1e3,
                "tokens_per_second": tokens / least,
                "threads": flags.threads,
            }
        )
    )


if __name__ == "__main__":
    main()
