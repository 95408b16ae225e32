#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py FOLDER [RESULTS.jsonl ...]: the results of a folder as a histogram of ratios (peer's time over Tern's), and the worst with reasons."""
import glob
import json
import math
import os
import sys

BOUNDS = (0.0, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.5, 5.0)
SHARES = (0.6, 0.4, 0.25, 0.15)
WORST = 20


def read(folder, files):
    with open(os.path.join(folder, "workloads.json"), encoding="utf-8") as file:
        data = json.load(file)
    results, keys = {}, {workload["name"]: workload["key"] for workload in data["workloads"]}
    for path in files or sorted(glob.glob(os.path.join(folder, "results*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if "name" not in entry or keys.get(entry["name"]) != entry.get("key"):
                    continue
                # A run that had torch.compile beside it has all that another one has.
                if "compiled" in entry["times"] or "compiled" not in results.get(entry["name"], entry)["times"]:
                    results[entry["name"]] = entry
    return data, results


def best_peer(result, names=None):
    """Seconds and name of the fastest peer; torch.compile counts by itself alone."""
    found = [(seconds, name) for name, seconds in result["times"].items() if name != "tern" and (name in names if names else name != "compiled")]
    return min(found, default=None)


def ratio(result, names=None):
    peer = best_peer(result, names)
    return peer[0] / result["times"]["tern"] if result["status"] == "ok" and peer and "tern" in result["times"] else None


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def reason(workload):
    """What the rules said of each block: the rule, and who declined, with one line for those that did so for the same reason. The plans, and
    instructions that a machine has not, are left out."""
    blocks = []
    for line in map(str.strip, workload["explain"]):
        if line.startswith("not "):
            rule, _, why = line.removeprefix("not ").partition(": ")
            if blocks and "no such instructions" not in why:
                blocks[-1][1].setdefault(why, []).append(rule)
        elif not line.startswith(("plan ", "next ")):
            blocks.append((line, {}))
    return ["; ".join([head, *(f"not {', '.join(rules)}: {why}" for why, rules in declined.items())])[:500] for head, declined in blocks[:8]]


def histogram(values):
    edges = [*BOUNDS, math.inf]
    for low, high in zip(edges, edges[1:]):
        count = sum(low <= value < high for value in values)
        if count:
            print(f"  {low:5.2f} .. {high if high < math.inf else '':<5} {count:4} {'#' * math.ceil(60 * count / len(values))}")


def summary(title, values):
    if not values:
        return
    shares = ", ".join(f"{sum(value >= bound for value in values) / len(values):.1%} >= {bound}" for bound in SHARES)
    print(f"{title}: {len(values)}, geomean {geomean(values):.3f}, least {min(values):.4f}; {shares}")


def families(data, ratios):
    groups = {}
    for workload in data["workloads"]:
        if workload["name"] in ratios:
            groups.setdefault(workload["family"], []).append(ratios[workload["name"]])
    print(f"\n{'family':24} {'count':>5} {'geomean':>8} {'least':>8} {'below 0.6':>9}")
    for family, values in sorted(groups.items(), key=lambda item: geomean(item[1])):
        print(f"{family:24} {len(values):5} {geomean(values):8.3f} {min(values):8.4f} {sum(value < 0.6 for value in values):9}")


def dynamic_pairs(results):
    """Time of a dynamic variant over that of its static one, and the name of the first."""
    pairs = []
    for name, result in results.items():
        other = results.get(name.removesuffix("dynamic") + "static") if name.endswith(".dynamic") else None
        if other and result["status"] == other["status"] == "ok":
            pairs.append((result["times"]["tern"] / other["times"]["tern"], name))
    return pairs


def dynamic_beside_static(pairs):
    within = sum(value <= 1.3 for value, _ in pairs) / len(pairs)
    worst = ", ".join(f"{name} {value:.1f}x" for value, name in sorted(pairs, reverse=True)[:5])
    print(f"\ndynamic over static time, of {len(pairs)} pairs: geomean {geomean([value for value, _ in pairs]):.3f}, {within:.1%} <= 1.3; most: {worst}")
    sweeps = {}
    for value, name in pairs:
        if name.startswith("sweep."):
            _, kernel, size, _ = name.split(".")
            sweeps.setdefault(kernel, []).append(f"{int(size)}: {value:.2f}")
    for kernel, sizes in sweeps.items():
        print(f"  {kernel:24} {'  '.join(sizes)}")


def print_folder(folder, files=()):
    data, results = read(folder, files)
    workloads = {workload["name"]: workload for workload in data["workloads"]}
    ratios = {name: value for name, value in ((name, ratio(result)) for name, result in results.items()) if value is not None}
    bad = [result for result in results.values() if result["status"] != "ok"]
    print(f"\n{data['device']}, target {data['target']}, seed {data['seed']}: {len(workloads)} workloads, {len(results)} run, {len(bad)} failed or wrong")
    for result in bad:
        text = workloads[result["name"]]["failed"] or result["reasons"].get("tern", "")
        print(f"  {result['name']} ({workloads[result['name']]['note']}): {result['status']}: {text[:200]}")
    pairs = dynamic_pairs(results)
    if pairs:
        dynamic_beside_static(pairs)
    if not ratios:
        return 1 if bad else 0
    table = [name for name in ratios if name.startswith("table.")]
    if table:
        print("\nthe table:")
        for name in table:
            peer = best_peer(results[name])
            compiled = results[name]["times"].get("compiled")
            print(f"  {name.removeprefix('table.'):28} {ratios[name]:8.4f}   tern {results[name]['times']['tern'] * 1e6:11.1f} us, {peer[1]} {peer[0] * 1e6:9.1f} us"
                  + (f", compiled {compiled * 1e6:9.1f} us" if compiled else ""))
    drawn = {name: value for name, value in ratios.items() if name not in table}
    if drawn:
        print("\npeer's time over Tern's, of the drawn ones:")
        histogram(drawn.values())
        summary("all", list(drawn.values()))
        for kind in ("static", "dynamic"):
            summary(kind, [value for name, value in drawn.items() if name.endswith("." + kind)])
    summary("torch.compile", [value for value in (ratio(result, ["compiled"]) for result in results.values()) if value is not None])
    families(data, ratios)
    print(f"\nthe worst {WORST}:")
    for name, value in sorted(ratios.items(), key=lambda item: item[1])[:WORST]:
        peer = best_peer(results[name])
        print(f"{value:8.4f} {name} ({workloads[name]['note']}): tern {results[name]['times']['tern'] * 1e6:.1f} us, {peer[1]} {peer[0] * 1e6:.1f} us")
        for line in reason(workloads[name]):
            print(f"           {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(print_folder(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)), sys.argv[2:]))
