"""The command line of the Keras forms: NAME.py [--seed N] [--json]."""

import argparse
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")


def run(example, seed=0):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--json", action="store_true", help="the result alone, as one line")
    flags = parser.parse_args()
    figures = {name: float(value) for name, value in example(flags).items()}
    print(json.dumps(figures) if flags.json else "  ".join(f"{name} {value:.9g}" for name, value in figures.items()))
