#!/usr/bin/env python3
"""How fast PyTorch writes with the Transformer of `tenon bench decode`: `generate` of Hugging Face's Transformers with its cache of
keys and values, on a Marian model of the same sizes, weights drawn, f32.

    transformers_peer.py [base|big|tiny] [--batch_size 32] [--beam_size 4] [--length 32] [--threads 2] [--compile]

Prints a line of JSON, the least time of some rounds, as `tenon bench decode --json` does. --compile: the decoder compiled by inductor,
with a cache of fixed size. `pip install transformers` puts it beside the other peers.
"""

import argparse
import json
import time

import torch
import transformers
from transformers import GenerationConfig, MarianConfig, MarianMTModel

VOCABULARY, LAYERS = 33708, 6
SIZES = {"tiny": (32, 4, 256), "base": (512, 8, 2048), "big": (1024, 16, 4096)}


def model_of(hidden, heads, filter_size):
    torch.manual_seed(0)
    return MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY,
            d_model=hidden,
            encoder_layers=LAYERS,
            decoder_layers=LAYERS,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=filter_size,
            decoder_ffn_dim=filter_size,
            activation_function="relu",
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            max_position_embeddings=1024,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
    ).eval()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("param_set", nargs="?", default="base", choices=SIZES)
    for name, value in (("batch_size", 32), ("beam_size", 4), ("source_length", 32), ("length", 32), ("threads", 2), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--compile", action="store_true")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    model = model_of(*SIZES[flags.param_set])
    sentences = torch.randint(2, VOCABULARY, (flags.batch_size, flags.source_length))
    config = GenerationConfig(
        num_beams=flags.beam_size,
        do_sample=False,
        min_new_tokens=flags.length,
        max_new_tokens=flags.length,
        length_penalty=0.6,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        **({"cache_implementation": "static"} if flags.compile else {}),
    )
    least = float("inf")
    with torch.inference_mode():
        if flags.compile:
            model.model.decoder = torch.compile(model.model.decoder)
        for _ in range(flags.rounds + 1):
            begun = time.perf_counter()
            found = model.generate(sentences, attention_mask=torch.ones_like(sentences), generation_config=config)
            least = min(least, time.perf_counter() - begun)
    steps = found.shape[1] - 1
    print(
        json.dumps(
            {
                "case": f"decode_{flags.param_set}",
                "peer": f"torch {torch.__version__}, transformers {transformers.__version__}",
                "beam_size": flags.beam_size,
                "batch_size": flags.batch_size,
                "steps": steps,
                "ms": least * 1e3,
                "tokens_per_second": steps * flags.batch_size / least,
                "threads": flags.threads,
            }
        )
    )


if __name__ == "__main__":
    main()
