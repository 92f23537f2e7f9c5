"""The measurements of BENCHMARKS.md; see `tests/bench/run`, which starts this.

Everything is timed as a whole process, from its start to its end, with what the kernel says about its CPU time and its
greatest resident size. Files are in the page cache: each run follows one that read them.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import close
from ledger import BY_DAY, WHOLE, Lake

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = os.environ["GPULEDGER_BIN"]
RUNS = int(os.environ.get("GPULEDGER_BENCH_RUNS", "3"))
GPUS = os.environ.get("GPULEDGER_BENCH_GPUS", "1000")
DAYS = os.environ.get("GPULEDGER_BENCH_DAYS", "1 3").split()
SHARED = Path(os.environ.get("GPULEDGER_SHARED", ROOT.parent / "shared"))
ENGINES = os.environ.get("GPULEDGER_BENCH_ENGINES", "duckdb chdb polars").split()
DERIVED = [*BY_DAY, *WHOLE.values()]


class Took:
    """What one process took."""

    def __init__(self, command, work, may_fail=False):
        with open(work / "stdout", "wb") as out, open(work / "stderr", "wb") as err:
            since = time.monotonic()
            child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=err)
            _, status, usage = os.wait4(child.pid, 0)
            self.wall = time.monotonic() - since
        child.returncode = os.waitstatus_to_exitcode(status)
        self.returncode = child.returncode
        self.cpu = usage.ru_utime + usage.ru_stime
        self.mib = usage.ru_maxrss / 1024
        self.out = (work / "stdout").read_text()
        if child.returncode and not may_fail:
            raise SystemExit(f"{command} failed:\n{(work / 'stderr').read_text()}")


class Median:
    def __init__(self, runs):
        self.wall = statistics.median(r.wall for r in runs)
        self.cpu = statistics.median(r.cpu for r in runs)
        self.mib = max(r.mib for r in runs)
        self.spread = f"{min(r.wall for r in runs):.2f}-{max(r.wall for r in runs):.2f}"


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def head(*cells):
    print()
    row(*cells)
    row(*["---"] + ["---:"] * (len(cells) - 1))


HEAD = ("what", "rows", "wall, s", "CPU, s", "rows/s", "peak, MiB", "wall, least-greatest")


def line(what, rows, m):
    per = f"{rows / m.wall:,.0f}" if rows else ""
    row(what, f"{rows:,}" if rows else "", f"{m.wall:.2f}", f"{m.cpu:.2f}", per, f"{m.mib:.0f}", m.spread)


def ask(data, query, work):
    return Took([BIN, "sql", "--data", data, "--format", "csv", query], work).out


def count(data, table, work):
    return int(ask(data, f"SELECT count(*) AS n FROM {table}", work).split()[1])


def without_ledger(data):
    """Takes the ledger away: what is built, and the tables it was built into."""
    shutil.rmtree(data / "builds", ignore_errors=True)
    for table in DERIVED:
        shutil.rmtree(data / "tables" / table, ignore_errors=True)


def all_engines(what, rows, data, config, work):
    """The ledger by the program and by other engines, in turn, and whether they agree."""
    columns, weights = work / "columns.csv", work / "weights.csv"
    columns.write_text(ask(data, "SELECT table_name, column_name, data_type FROM information_schema.columns "
                           "ORDER BY table_name, ordinal_position", work))
    weights.write_text(ask(data, "SELECT * FROM task_weight", work))
    other = {e: [sys.executable, HERE / f"{e}_ledger.py", data, "--columns", columns, "--weights", weights, "--out",
                 work / e] for e in ENGINES}
    ours, theirs, inner = [], {e: [] for e in ENGINES}, {e: [] for e in ENGINES}
    for _ in range(RUNS):
        without_ledger(data)
        ours.append(Took([BIN, "ingest", "--data", data, *config], work))
        for e, command in other.items():
            theirs[e].append(Took(command, work))
            inner[e].append(json.loads(theirs[e][-1].out.splitlines()[-1])["seconds"])
    a = Median(ours)
    line(f"{what}: ledger, gpuledger", rows, a)
    for e, command in other.items():
        said, b = json.loads(Took([*command, "--compare"], work).out.splitlines()[-1]), Median(theirs[e])
        line(f"{what}: ledger, {said['engine']} {said['version']} (its own clock: {statistics.median(inner[e]):.2f} s)", rows, b)
        agree = "; ".join(f"{t} {c['rows_in_lake']:,} rows, {c['only_here'] + c['only_in_lake']} differ"
                          for t, c in said["compared"].items())
        notes.append(f"{what}: gpuledger / {said['engine']} = {a.wall / b.wall:.2f} by wall clock, {a.cpu / b.cpu:.2f} by CPU "
                     f"time, {a.mib / b.mib:.2f} by memory. Results: {agree}.")
    return a


def philly(work):
    data, jobs = work / "philly", SHARED / "data/philly-vc-jobs/philly_jobs.csv.gz"
    if not jobs.exists():
        notes.append("philly: skipped, there is no data/philly-vc-jobs")
        return
    imported, first, again = [], [], []
    report = [BIN, "report", "usage", "--data", data, "--month", "2017-11", "--zone", "UTC", "--by", "account"]
    for _ in range(RUNS):
        shutil.rmtree(data, ignore_errors=True)
        imported.append(Took([BIN, "import", "jobs", "--cluster", "philly", "--map", "examples/maps/philly.toml",
                              "--data", data, jobs], work))
        first.append(Took(report, work))
        again.append(Took(report, work))
    rows = sum(count(data, t, work) for t in ["job", "allocation", "allocation_device"])
    jobs_in = count(data, "job", work)
    line(f"philly: import of {jobs_in:,} jobs", rows, Median(imported))
    line("philly: first report, builds the ledger", 0, Median(first))
    line("philly: the report again", 0, Median(again))
    all_engines("philly", jobs_in, data, [], work)
    sizes("philly", data, work)


def generated(days, work):
    """A fleet's inbox as its collectors and importers left it: the demo is ended as it begins to take it in."""
    data = work / f"fleet-{days}"
    demo = subprocess.Popen([BIN, "demo", "--gpus", GPUS, "--days", days, "--data", data], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)
    for said in demo.stderr:
        if said.startswith("taking it in"):
            demo.send_signal(signal.SIGKILL)
            break
    demo.wait()
    return data


def fleet(days, work):
    before = generated(days, work)
    data = work / "fleet"
    config = ["--config", before / "input/gpuledger.toml"]
    runs = []
    for _ in range(RUNS):
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(before, data)
        runs.append(Took([BIN, "ingest", "--data", data, *config], work))
    tables = ["device_minute", "process_minute"]
    rows = {t: count(data, t, work) for t in tables}
    inbox = list((before / "inbox").glob("*.parquet"))
    size = sum(f.stat().st_size for f in inbox)
    what = f"{GPUS} GPUs, {days} d"
    total = sum(rows.values())
    notes.append(f"{what}: {rows['device_minute']:,} device and {rows['process_minute']:,} process minutes in "
                 f"{len(inbox):,} segments of {size / 1e6:.1f} MB.")
    m = Median(runs)
    line(f"{what}: ingest and ledger", total, m)
    ledger = all_engines(what, total, data, config, work)
    alone = m.wall - ledger.wall
    row(f"{what}: ingest alone (difference)", f"{total:,}", f"{alone:.2f}", f"{m.cpu - ledger.cpu:.2f}",
        f"{total / alone:,.0f}", "", "")
    notes.append(f"{what}: ingest = {total / (m.cpu - ledger.cpu):,.0f} rows per second of CPU; "
                 f"{ledger.wall / int(days):.2f} s of ledger a day.")
    sizes(what, data, work)
    shutil.rmtree(before)


def held_back(data, aside):
    """Moves the segments of the last UTC day of minutes aside, as if its collectors had not delivered yet."""
    segments = [f for f in (data / "inbox").rglob("*.parquet") if f.name.startswith(("device_minute~", "process_minute~"))]
    first = {f: duckdb.execute("SELECT min(tick_ms) FROM read_parquet(?)", [str(f)]).fetchone()[0] for f in segments}
    last_day = max(first.values()) // 86_400_000
    late = [f for f, ms in first.items() if ms // 86_400_000 == last_day]
    for f in late:
        to = aside / f.relative_to(data)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(f, to)
    return len(late)


def month(days, work):
    """Day by day: all days but the last, then the last day alone; findings; the ledger by each engine, once, compared."""
    data, aside = generated(days, work), work / "aside"
    config = ["--config", data / "input/gpuledger.toml"]
    what = f"{GPUS} GPUs, {days} d"
    segments = held_back(data, aside)
    all_but_one = Took([BIN, "ingest", "--data", data, *config], work)
    shutil.copytree(aside, data, dirs_exist_ok=True)
    one_more = Took([BIN, "ingest", "--data", data, *config], work)
    rows = {t: count(data, t, work) for t in ["device_minute", "process_minute"]}
    total = sum(rows.values())
    notes.append(f"{what}: {rows['device_minute']:,} device and {rows['process_minute']:,} process minutes; {segments} segments "
                 "are of the last day.")
    line(f"{what}: ingest and ledger of all days but the last", total, Median([all_but_one]))
    line(f"{what}: the last day, ingest and ledger", total // int(days), Median([one_more]))
    window = ["--from", "2026-03-01", "--to", "2026-04-01"]
    asked = {"findings": ["report", "findings", "--by", "rule"], "charge": ["report", "charge", "--by", "team"],
             "fleet": ["report", "fleet", "--by", "pool"]}
    for name, report in asked.items():
        line(f"{what}: report {name}", 0, Median([Took([BIN, *report, *window, "--data", data, *config], work)]))
    columns, weights = work / "columns.csv", work / "weights.csv"
    columns.write_text(ask(data, "SELECT table_name, column_name, data_type FROM information_schema.columns "
                           "ORDER BY table_name, ordinal_position", work))
    weights.write_text(ask(data, "SELECT * FROM task_weight", work))
    without_ledger(data)
    ours = Took([BIN, "ingest", "--data", data, *config], work)
    line(f"{what}: ledger, gpuledger", total, Median([ours]))
    for e in ENGINES:
        theirs = Took([sys.executable, HERE / f"{e}_ledger.py", data, "--columns", columns, "--weights", weights, "--out", work / e,
                       "--compare"], work, may_fail=True)
        if theirs.returncode:
            row(f"{what}: ledger, {e}", f"{total:,}", "failed", "", "", f"{theirs.mib:.0f}", f"exit {theirs.returncode}")
            continue
        said = json.loads(theirs.out.splitlines()[-1])
        row(f"{what}: ledger, {said['engine']} {said['version']}", f"{total:,}", said["seconds"], said["cpu"],
            f"{total / said['seconds']:,.0f}", said["peak_mib"], "its own clock")
        agree = "; ".join(f"{t} {c['rows_in_lake']:,} rows, {c['only_here'] + c['only_in_lake']} differ"
                          for t, c in said["compared"].items())
        notes.append(f"{what}: gpuledger / {said['engine']} = {ours.wall / said['seconds']:.2f} by wall clock, "
                     f"{ours.cpu / said['cpu']:.2f} by CPU time, {ours.mib / said['peak_mib']:.2f} by memory. Results: {agree}.")
    sizes(what, data, work)
    shutil.rmtree(data)


def sizes(what, data, work):
    lake = Lake(data)
    versions = {**lake.cut["tables"], **lake.build["tables"]}
    for table in ["device_minute", "process_minute", "usage", "job", "allocation", "allocation_device"]:
        files = lake.files(table, versions[table]) if table in versions else []
        if files:
            size = sum(os.stat(f).st_size for f in files)
            rows = duckdb.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [files]).fetchone()[0]
            byte_rows.append((what, table, f"{rows:,}", len(files), f"{size:,}", f"{size / rows:.1f}"))


def demo(work):
    data = work / "demo"
    runs = []
    for _ in range(RUNS):
        shutil.rmtree(data, ignore_errors=True)
        runs.append(Took([BIN, "demo", "--data", data], work))
    rows = count(data, "device_minute", work) + count(data, "process_minute", work)
    line("demo: 64 GPUs, a month, generated, ingested, billed, checked", rows, Median(runs))
    line("start of the program: --version", 0, Median([Took([BIN, "--version"], work) for _ in range(RUNS)]))


def main():
    parts = sys.argv[1:] or ["philly", "fleet", "demo"]
    os.chdir(ROOT)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before; median of {RUNS} runs, greatest peak")
    with tempfile.TemporaryDirectory(prefix="gpuledger-bench-") as folder:
        work = Path(folder)
        head(*HEAD)
        if "philly" in parts:
            philly(work)
        if "fleet" in parts:
            for days in DAYS:
                fleet(days, work)
        if "month" in parts:
            for days in DAYS:
                month(days, work)
        if "demo" in parts:
            demo(work)
        if "close" in parts:
            for gpus in close.sizes():
                one = lambda what, rows, took: line(what, rows, Median([took]))
                close.measure(Took, one, row, notes, BIN, sys.executable, gpus, work)
        head("data", "table", "rows", "files", "bytes", "bytes/row")
        for cells in byte_rows:
            row(*cells)
        print()
        for note in notes:
            print(f"- {note}")
        print(f"\nload {os.getloadavg()[0]:.1f} after")


notes, byte_rows = [], []
main()
