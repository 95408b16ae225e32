# SPDX-License-Identifier: Apache-2.0
"""What was measured, as text."""
import math

from peers import Peers

GROUPS = {"matmul": "float32 matmul", "conv": "convolutions", "depthwise": "depthwise convolutions", "rows": "rows, sums, transposes",
          "int8": "int8 matmul", "bf16": "bfloat16 matmul"}

# What is summed up: title -> groups.
SUMMARIES = {title: [group] for group, title in GROUPS.items()} | {"all convolutions": ["conv", "depthwise"]}


def right(result):
    """The peers with a time and a right output."""
    return {name: peer["seconds"] for name, peer in result["peers"].items() if "wrong" not in peer}


def best_peer(result):
    """Name and seconds, or None."""
    others = [(seconds, name) for name, seconds in right(result).items() if name not in Peers.OWN]
    return (min(others)[1], min(others)[0]) if others else None


def ratio(result, peer=None):
    """The peer's time over Tern's: above 1, Tern is faster. Of the best peer where none is named; None where there is no such."""
    times = right(result)
    if peer is None:
        best = best_peer(result)
        peer = best[0] if best else None
    return times[peer] / times["tern"] if "tern" in times and peer in times else None


def geomean(numbers):
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def time_text(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def head(data, threads, peers):
    print(f"\n{data['machine']}, {threads} thread{'s' if threads > 1 else ''}, target {data['target']}")
    for name, worker in peers.workers.items():
        print(f"  {name}: {worker.version}")
    for name, reason in peers.missing.items():
        print(f"  {name}: not measured: {reason}")
    if data["load"] > 0.5:
        print(f"  the machine is busy (load {data['load']:.1f}): times on several threads mean little")
    print("\nratio: the best peer's time / Tern's; of limit: the least time that the machine allows / Tern's\n")
    print(f"{'case':30} {'Tern':>10} {'GFLOP/s':>8} {'ratio':>6} {'of limit':>8}  peers")


def row(result):
    tern = result["peers"].get("tern")
    cells = ["-"] * 4
    if tern:
        rate = f"{result['operations'] / tern['seconds'] / 1e9:.1f}" if result["operations"] else "-"
        cells = [time_text(tern["seconds"]), rate, number(ratio(result)), number(result["limit"] / tern["seconds"])]
    others = sorted((peer["seconds"], name) for name, peer in result["peers"].items() if name != "tern")
    texts = [f"{name} {time_text(seconds)}" + (" WRONG" if "wrong" in result["peers"][name] else "") for seconds, name in others]
    print(f"{result['case']:30} {cells[0]:>10} {cells[1]:>8} {cells[2]:>6} {cells[3]:>8}  {', '.join(texts)}")
    if tern is None:
        print(f"    Tern: {result['cannot'].get('tern', 'not measured')}")
    elif "wrong" in tern:
        print(f"    Tern is WRONG: {tern['wrong']}")


def summaries(data):
    """For each number of threads and group: (threads, title, against, count, geometric mean, worst ratio, its case)."""
    lines = []
    for threads in sorted({result["threads"] for result in data["results"]}):
        for title, groups in SUMMARIES.items():
            results = [result for result in data["results"] if result["group"] in groups and result["threads"] == threads]
            if len(groups) > len({result["group"] for result in results}):
                continue
            for peer in (None, "onnxruntime", "before", "control"):
                ratios = [(ratio(result, peer), result["case"]) for result in results]
                ratios = [pair for pair in ratios if pair[0] is not None]
                if ratios:
                    worst = min(ratios)
                    lines.append((threads, title, peer or "best peer", len(ratios), geomean(pair[0] for pair in ratios), *worst))
    return lines


def facts(data):
    """Sentences that the goals speak of."""
    texts = []
    for threads in sorted({result["threads"] for result in data["results"]}):
        rates, shares = {}, {}
        for result in data["results"]:
            seconds = right(result).get("tern")
            if seconds and result["threads"] == threads and result["group"] == "matmul":
                rates[result["case"]] = result["operations"] / seconds / 1e9
                shares[result["case"]] = [rates[result["case"]] * 1e9 / result[peak] for peak in ("peak", "loaded_peak")]
        name = "matmul.1024x1024x1024"
        if shares.get(name):
            texts.append(f"{threads} thread(s): {name} runs at {shares[name][0]:.2f} of the peak of multiply-adds, measured in the same rounds,"
                         f" at {shares[name][1]:.2f} of that on numbers that are loaded")
        squares = [rates[case] for case in (f"matmul.{n}x{n}x{n}" for n in (256, 512, 1024, 2048)) if case in rates]
        if len(squares) == 4:
            texts.append(f"{threads} thread(s): from 256 to 2048 the slowest square matmul has {min(squares) / max(squares):.2f} of the fastest one's GFLOP/s")
    return texts


def limits(data):
    """(of what, threads, rate, unit, how), arithmetic first, then memory by size."""
    lines = []
    for key, peak in data["peaks"].items():
        what, argument, threads = key.split()
        order = (what, int(argument) if what == "memory" else 0, argument, int(threads))
        name = argument if what == "arithmetic" else f"{int(argument) / 1048576:g} MiB"
        lines.append((order, (name, threads, peak["rate"] / 1e9, "Gop" if what == "arithmetic" else "GB", peak["how"] or "no instruction")))
    return [line for _, line in sorted(lines)]


def summary(data):
    print("\nlimits, measured")
    for name, threads, rate, unit, how in limits(data):
        print(f"  {name:10} {threads:>3} thread(s) {rate:10.1f} {unit}/s  {how}")
    print(f"\n{'threads':>7}  {'cases':26} {'against':12} {'count':>5} {'geomean':>8} {'worst':>6}")
    for threads, title, peer, count, mean, worst, case in summaries(data):
        print(f"{threads:>7}  {title:26} {peer:12} {count:>5} {mean:>8.2f} {worst:>6.2f}  {case}")
    for text in facts(data):
        print(text)
