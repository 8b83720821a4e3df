"""The command line of the Keras forms: NAME.py [--seed N] [--json], and an example's own flags."""

import argparse
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")


def run(example, seed=0, **own):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--json", action="store_true", help="the result alone, as one line")
    for name, value in own.items():  # the example's own flags and what they are unless given
        kind = {"action": "store_true"} if value is False else {"type": type(value), "default": value}
        parser.add_argument("--" + name, **kind)
    flags = parser.parse_args()
    figures = {name: float(value) for name, value in example(flags).items()}
    print(json.dumps(figures) if flags.json else "  ".join(f"{name} {value:.9g}" for name, value in figures.items()))
