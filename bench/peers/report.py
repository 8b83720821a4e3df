"""Makes the table of what compare.py measured. Standard library alone."""
import math
import os
import platform
import statistics
import subprocess

from models import CASES

# Of the reference machine (two cores of an AMD EPYC, Zen 3, with 200 GFLOP/s by fused multiply-adds on both):
# milliseconds that arithmetic and unavoidable traffic take, and the share of the best peer's time that Tenon may take.
REFERENCE_GFLOPS = 200
LIMITS = {
    "mlp_tiny": (0.001, 0.45), "mlp_mnist": (0.13, 0.6), "mnist_cnn": (2.0, 0.3), "flowers180": (48, 0.4),
    "flowers299": (140, 0.4), "resnet20": (156, 0.6), "resnet18": (450, 0.55), "resnet50": (1500, 0.7),
    "transformer_small": (178, 0.6), "transformer_base": (1860, 0.8), "transformer_base_d0": (1860, 0.85),
    "resnet50_infer": (41, 0.95), "resnet50_infer32": (32 * 41, 0.95),
    # arithmetic alone: a training step has three times that of its predictions
    "mobilenet_v2": (3 * 32 * 3.0, 0.7), "efficientnet_b0": (3 * 32 * 3.9, 0.7), "vit_b_16": (3 * 32 * 176, 0.7),
    "mobilenet_v2_infer": (3.0, 0.7), "efficientnet_b0_infer": (3.9, 0.7), "vit_b_16_infer": (176, 0.7),
    "mobilenet_v2_infer32": (32 * 3.0, 0.7), "efficientnet_b0_infer32": (32 * 3.9, 0.7),
    "vit_b_16_infer32": (32 * 176, 0.7),
}

# Tenon otherwise than asked for, to be held beside; and the head of the column that does.
FLOAT32, ONE_PROCESS = "float32", "one_process"
OWN = {FLOAT32: "of its float32", ONE_PROCESS: "of one process"}

INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # as /proc/cpuinfo names them


def own_variants(dtype_policy, processes):
    return [FLOAT32] * (dtype_policy != "float32") + [ONE_PROCESS] * (processes > 1)


def target(case, results):
    """The ratio that Tenon may reach. In mixed_bfloat16 without instructions for it: of its own time in float32."""
    if results["processes"] > 1:
        return 0.6
    if results["dtype_policy"] == "float32":
        return LIMITS[case][1]
    return 0.7 if {"avx512_bf16", "amx_bf16"} & set(results["machine"]["instructions"]) else "1.05 of own"


def machine():
    with open("/proc/cpuinfo") as f:
        parts = (line.partition(":") for line in f.read().split("\n\n")[0].splitlines())  # of the first processor
        facts = {name.strip(): value.strip() for name, _, value in parts}
    flags = facts.get("flags", "").split()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {"cpu": facts.get("model name") or platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "instructions": [i for i in INSTRUCTIONS if i in flags], "memory_gib": round(memory, 1),
            "system": platform.platform()}


def commit(folder):
    try:
        done = subprocess.run(["git", "-C", str(folder), "describe", "--always", "--dirty"], capture_output=True,
                              text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def summed(rows):
    """The rounds of one contestant as one row: least of minima, median of medians, first step of the first round."""
    good = [r for r in rows if "error" not in r]
    errors = [r["error"] for r in rows if "error" in r]
    out = {"peer": rows[0]["peer"], "variant": rows[0]["variant"], "rounds": len(good), "error": "; ".join(errors)}
    if good:
        out |= {"min_ms": min(r["min_ms"] for r in good), "first_step_s": good[0]["first_step_s"],
                "median_ms": statistics.median(r["median_ms"] for r in good), "parameters": good[0]["parameters"],
                "peak_rss_mb": max(r["peak_rss_mb"] for r in good), "version": good[0]["version"]}
    return out


def by_contestant(rows):
    names = dict.fromkeys((r["peer"], r["variant"]) for r in rows)
    return [summed([r for r in rows if (r["peer"], r["variant"]) == name]) for name in names]


def number(x):
    return f"{x:.4g}" if x < 1000 else f"{x:.0f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def timed(row):
    return f"{number(row['min_ms'])} ({number(row['median_ms'])})" if row else "-"


def summary_row(case, contestants, results):
    measured = [c for c in contestants if c["rounds"]]
    own = {c["variant"]: c for c in measured if c["peer"] == "tenon"}
    tenon = own.get("")
    best = min((c for c in measured if c["peer"] != "tenon"), key=lambda c: c["min_ms"], default=None)
    limit = LIMITS[case][0] * REFERENCE_GFLOPS / (results["peak_gflops"] or REFERENCE_GFLOPS)
    ratios = ["-", "-"]
    if tenon and best:
        ratios = [f"{tenon[key] / best[key]:.2f}" for key in ("min_ms", "median_ms")]
    share = f"{100 * limit / tenon['min_ms']:.0f} %" if tenon else "-"
    name = f"{best['peer']} {best['variant']}" if best else "-"
    row = [case, timed(tenon), timed(best), name, *ratios, target(case, results), number(limit), share]
    for variant in own_variants(results["dtype_policy"], results["processes"]):
        row.append(f"{tenon['min_ms'] / own[variant]['min_ms']:.2f}" if tenon and variant in own else "-")
    return row


def contestant_row(case, c):
    name = [case, c["peer"], c["variant"], c["rounds"]]
    if not c["rounds"]:
        return [*name, "-", "-", "-", "-", "-", c["error"].replace("|", "/")]
    return [*name, number(c["min_ms"]), number(c["median_ms"]), number(c["first_step_s"]),
            f"{c['peak_rss_mb']:.0f}", c["parameters"], c["error"].replace("|", "/")]


def disagreements(cases):
    """Cases whose contestants do not have the same number of parameters, each a line."""
    out = []
    for case, contestants in cases.items():
        counts = {c["parameters"] for c in contestants if c["rounds"]}
        if len(counts) > 1:
            out.append(f"{case}: the contestants do not agree on the number of parameters: {sorted(counts)}")
    return out


def no_numbers(results):
    """Trainings whose loss is no number: what they did in their time says little. Each a line."""
    wrong = dict.fromkeys((case, r["peer"], r["variant"]) for case, rows in results["cases"].items()
                          for r in rows if CASES[case].trains and not math.isfinite(r.get("loss") or 0))
    return [f"{case}: the loss of {peer} {variant}".rstrip() + " is no finite number" for case, peer, variant in wrong]


def conditions(results, versions):
    where, peak, policy = results["machine"], results["peak_gflops"], results["dtype_policy"]
    limits = (f"limits scaled from {REFERENCE_GFLOPS} to the {peak:.0f} GFLOP/s of these cores "
              f"({results['peak_by']}, {policy})" if peak else
              f"peak of these cores unknown: limits are those of {REFERENCE_GFLOPS} GFLOP/s")
    of_each = f" in each of {results['processes']} processes" if results["processes"] > 1 else ""
    return "\n".join([
        f"Date {results['date']}; {where['cpu']}, {where['cores']} cores, {where['memory_gib']} GiB, "
        f"{where['system']}; instructions: {' '.join(where['instructions']) or 'none of ' + ' '.join(INSTRUCTIONS)}.",
        f"dtype_policy: {policy}; threads: {results['threads']}{of_each}, rounds: {results['rounds']} of "
        f"{results['seconds']:g} s; load before {results['load_before']:.2f}.",
        f"Tenon at {results['tenon_commit'] or 'an unknown commit'}"
        + "".join(f"; {peer} {version}" for peer, version in sorted(versions.items())) + f"; {limits}."])


def text(results):
    cases = {case: by_contestant(rows) for case, rows in results["cases"].items() if rows}
    everyone = [c for contestants in cases.values() for c in contestants if c["rounds"]]
    versions = {c["peer"]: c["version"] for c in everyone if c["version"]}
    parts = [conditions(results, versions), *disagreements(cases), *no_numbers(results)]
    own = [OWN[v] for v in own_variants(results["dtype_policy"], results["processes"])]
    parts.append(table(["case", "Tenon, ms min (median)", "best peer", "which", "ratio of minima", "of medians",
                        "target", "limit ms", "of the limit", *own],
                       [summary_row(case, c, results) for case, c in cases.items()]))
    parts.append(table(["case", "who", "variant", "rounds", "min ms", "median ms", "first step s", "peak MB",
                        "parameters", "why not"],
                       [contestant_row(case, c) for case in CASES if case in cases for c in cases[case]]))
    return "\n\n".join(parts)
