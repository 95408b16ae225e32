# SPDX-License-Identifier: Apache-2.0
"""What was measured, as a page that needs nothing else: python3 page.py cpu.json > cpu.html makes it again."""
import html
import json
import sys

import report

STYLE = """
:root { --ink: #1c2430; --soft: #5d6b7d; --line: #dfe4ea; --ground: #fff; --tern: #0b7a75; --peer: #b9c3cf; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ef; --soft: #98a5b5; --line: #2d3742; --ground: #12171d; --tern: #35b5ad; --peer: #4a5766; --bad: #ff8a80; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 1080px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 22px; margin: 0; } h2 { font-size: 17px; margin: 2.2em 0 .4em; } h3 { font-size: 15px; margin: 1.6em 0 .3em; }
p, li { color: var(--soft); max-width: 75ch; } table { border-collapse: collapse; width: 100%; }
td, th { padding: .35em .6em; border-top: 1px solid var(--line); text-align: right; vertical-align: top; font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 500; border: 0; } td.name, th.name, th:last-child { text-align: left; white-space: nowrap; }
td.bars { width: 46%; } .bar { display: grid; grid-template-columns: 7.5em 1fr 5.5em; gap: .5em; align-items: center; font-size: 12px; line-height: 1.35; }
.bar .label { text-align: right; color: var(--soft); } .bar i { display: block; height: 8px; border-radius: 2px; background: var(--peer); }
.bar.tern i { background: var(--tern); } .bar.tern .label { color: var(--tern); font-weight: 600; } .bar.wrong i { background: var(--bad); }
.time { text-align: left; } .good { color: var(--tern); font-weight: 600; } .note { font-size: 12px; color: var(--bad); }
"""


def cell(text, kind=""):
    return f"<td class='{kind}'>{text}</td>" if kind else f"<td>{text}</td>"


def table(heads, rows, names=1):
    """The first `names` columns are text."""
    head = "".join(f"<th class='{'name' if i < names else ''}'>{html.escape(text)}</th>" for i, text in enumerate(heads))
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def bars(result):
    """The fastest fills its line; the others are as long as they are fast beside it."""
    peers = sorted(result["peers"].items(), key=lambda pair: pair[1]["seconds"])
    lines = []
    for name, peer in peers:
        kind = "tern" if name == "tern" else "wrong" if "wrong" in peer else ""
        width = 100 * peers[0][1]["seconds"] / peer["seconds"]
        hint = html.escape(f"{peer['variant']}, largest error {peer['error']:.2g}", quote=True)
        label = "Tern" if name == "tern" else html.escape(name)
        lines.append(f"<div class='bar {kind}' title='{hint}'><span class='label'>{label}</span><span><i style='width:{width:.2f}%'></i></span>"
                     f"<span class='time'>{report.time_text(peer['seconds'])}</span></div>")
    return "".join(lines)


def row(result):
    tern = result["peers"].get("tern")
    cells = ["-"] * 4
    if tern:
        rate = f"{result['operations'] / tern['seconds'] / 1e9:.1f}" if result["operations"] else "-"
        cells = [report.time_text(tern["seconds"]), rate, report.number(report.ratio(result)), report.number(result["limit"] / tern["seconds"])]
    notes = [result["cannot"].get("tern"), (tern or {}).get("wrong")]
    note = "".join(f"<div class='note'>{html.escape(text)}</div>" for text in notes if text)
    good = "good" if (report.ratio(result) or 0) >= 1 else ""
    return (cell(html.escape(result["case"]) + note, "name") + cell(cells[0]) + cell(cells[1]) + cell(cells[2], good) + cell(cells[3])
            + cell(bars(result), "bars"))


def summary(data):
    rows = []
    for threads, title, peer, count, mean, worst, case in report.summaries(data):
        rows.append(cell(title, "name") + cell(peer, "name") + cell(threads) + cell(count)
                    + cell(f"{mean:.2f}", "good" if mean >= 1 else "") + cell(f"{worst:.2f}") + cell(html.escape(case), "name"))
    facts = "".join(f"<li>{html.escape(text)}</li>" for text in report.facts(data))
    return table(["cases", "against", "threads", "count", "geometric mean", "worst", "which"], rows, 2) + f"<ul>{facts}</ul>"


def limits(data):
    rows = []
    for name, threads, rate, unit, how in report.limits(data):
        rows.append(cell(html.escape(name), "name") + cell(threads) + cell(f"{rate:.1f} {unit}") + cell(html.escape(how), "name"))
    return table(["of", "threads", "a second", "by"], rows)


def peers(data):
    rows = [cell(html.escape(name), "name") + cell(html.escape(text), "name") for name, text in data["versions"].items()]
    rows += [cell(html.escape(name), "name") + cell("not measured: " + html.escape(text), "name") for name, text in data["missing"].items()]
    return table(["peer", "version"], rows, 2)


def page(data):
    parts = [f"<h1>Tern on {html.escape(data['machine'])}</h1>",
             f"<p>{html.escape(data['date'])}, target <code>{html.escape(data['target'])}</code>, load {data['load']:.1f} when it began. A round lets each "
             f"library run a case for {data['seconds'] * 1e3:g} ms, one after another; a time is the least of a call over {data['rounds']} rounds or more (3 where they take long). "
             "Constant operands are prepared before the time is taken. Threads are not pinned. Ratio: the best peer's time over Tern's; above 1, Tern is "
             "faster. Of limit: the least time that the arithmetic and the memory of this machine allow, over Tern's.</p>",
             "<h2>Summary</h2>", summary(data)]
    for threads in sorted({result["threads"] for result in data["results"]}):
        parts.append(f"<h2>{threads} thread{'s' if threads > 1 else ''}</h2>")
        for group, title in report.GROUPS.items():
            results = [result for result in data["results"] if result["threads"] == threads and result["group"] == group]
            if results:
                heads = ["case", "Tern", "GFLOP/s", "ratio", "of limit", "speed beside the fastest"]
                parts.append(f"<h3>{title}</h3>" + table(heads, map(row, results)))
    parts += ["<h2>Limits of this machine, measured</h2>", limits(data), "<h2>Peers</h2>", peers(data)]
    return (f"<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>Tern on the CPU</title>"
            f"<style>{STYLE}</style><body>{''.join(parts)}</body></html>\n")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as given:
        print(page(json.load(given)), end="")
