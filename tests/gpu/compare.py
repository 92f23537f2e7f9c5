"""Compares what the collector recorded with nvidia-smi and with the load: a table, then PASS or FAIL.

Reads in the folder given: rows.jsonl (rows of `once --json`), load.json, smi.csv, pmon.txt, apps.csv.
A value that nobody measured is `unknown`, and no comparison.
"""

import json
import pathlib
import sys

POINTS = 100_000  # ten points of a percentage, in ppm: two samplers of half-second periods differ by a few


def numbers(cells):
    """The cells that are numbers; `-`, `N/A` and `[N/A]` are not."""
    found = []
    for cell in cells:
        try:
            found.append(float(cell))
        except ValueError:
            pass
    return found


def mean(values):
    return sum(values) / len(values) if values else None


def table(path):
    return [[cell.strip() for cell in line.split(",")] for line in path.read_text().splitlines() if line.strip()]


def pmon_sm(text, pid):
    """SM percentages of a process; the column is found by its heading. A dash is not a zero: it is left out."""
    heads, found = [], []
    for line in text.splitlines():
        words = line.lstrip("# ").split()
        if words[:1] == ["gpu"]:
            heads = words
        elif heads and "sm" in heads and not line.startswith("#") and words[1:2] == [str(pid)]:
            found.append(words[heads.index("sm")])
    return numbers(found)


def total(rows, key):
    """Sum of a column; none where it is absent in any row: a part is not the whole."""
    values = [row.get(key) for row in rows]
    return None if not values or None in values else sum(values)


def ratio_ppm(part, whole):
    return None if part is None or not whole else part * 1_000_000 / whole


def main():
    work = pathlib.Path(sys.argv[1])
    load = json.loads((work / "load.json").read_text())
    rows = [json.loads(line) for line in (work / "rows.jsonl").read_text().splitlines() if line.strip()]
    own = [r for r in rows if r["table"] == "process_minute" and r["pid"] == load["pid"]]
    smi = table(work / "smi.csv")
    uuid = load["uuid"] or (smi[0][0] if len({r[0] for r in smi}) == 1 else None)
    cards = [r for r in rows if r["table"] == "device_minute" and r["uuid"] == uuid]
    smi = [r for r in smi if r[0] == uuid]
    seconds = sum(r["dur_ms"] for r in cards) / 1000
    power_w = mean(numbers(r[3] for r in smi))
    pmon = mean(pmon_sm((work / "pmon.txt").read_text(), load["pid"]))
    apps = numbers(r[1] for r in table(work / "apps.csv") if r[0] == str(load["pid"]))
    util = mean(numbers(r[1] for r in smi))
    card_util = mean([r["gpu_util_ppm"] for r in cards if r.get("gpu_util_ppm") is not None])

    busy = ratio_ppm(total(own, "busy_ms"), total(own, "covered_ms"))
    peaks = [r["mem_peak_bytes"] for r in own if r.get("mem_peak_bytes") is not None]
    energy = total(cards, "energy_mj")
    # measure, collector, reference, who says so, how far they may be apart, whether the smoke fails without it
    checks = [
        ("busy part (ppm)", busy, load["duty_ppm"], "the load", POINTS, True),
        ("busy part (ppm)", busy, None if pmon is None else pmon * 10_000, "pmon", POINTS, False),
        ("GPU utilization (ppm)", card_util, None if util is None else util * 10_000, "nvidia-smi", POINTS, False),
        ("memory peak (MiB)", max(peaks) / 2**20 if peaks else None, max(apps, default=None), "nvidia-smi", 64, True),
        ("energy (J)", None if energy is None else energy / 1000, None if power_w is None else power_w * seconds,
         "power x time", 0.1 * (power_w or 0) * seconds, False),
    ]
    print(f"\n{'measure':24}{'collector':>14}{'reference':>14}{'may differ':>12}  by            verdict")
    failed = len(own) < 2
    for measure, ours, theirs, who, apart, needed in checks:
        if ours is None or theirs is None:
            verdict = "FAIL (unknown)" if needed else "unknown"
            failed |= needed
        else:
            good = abs(ours - theirs) <= apart
            verdict = "ok" if good else "FAIL"
            failed |= not good
        show = lambda value: "unknown" if value is None else f"{value:,.0f}"
        print(f"{measure:24}{show(ours):>14}{show(theirs):>14}{apart:>12,.0f}  {who:14}{verdict}")
    for row in cards:
        parts = {key: row.get(key) for key in ("sm_ppm", "dram_ppm", "tensor_ppm", "activity_source", "reason")}
        print(f"activity: {parts}")
    if len(own) < 2:
        print(f"the load (pid {load['pid']}) has {len(own)} process rows, 2 expected")
    print("FAIL" if failed else "PASS", f"- {load['model']}, duty {load['duty_ppm'] / 10_000:.1f} %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
