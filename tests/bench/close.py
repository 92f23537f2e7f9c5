"""Closing, verifying and exporting a month from cells, for fleets of several sizes; see `tests/bench/run close`.

For each size the cells of a month are generated (`cells.py`), the month is closed with everything waived that can be, a second and a
third time the close list alone is made (`close --dry-run` of the next month, which corrects the closed one: once where nothing of
it changed and once where a price did), it is verified, and each document is written. Time is that of the whole process.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENTS = ["table", "json", "csv", "xlsx", "pdf", "posting", "parquet", "focus", "focus-csv"]
ACCOUNTS = ["--expense-account", "62000", "--recovery-account", "48500", "--platform-cost-center", "IT"]
WAIVE = ["--reason", "a benchmark", "--approver", "bench"]
OWNERS = "kind,cluster,value,team,cost_center,share_percent,from,to\naccount,alpha,*,{value},CC-1,,,\n"
LATER = "model,price,from,to\nNVIDIA H100 80GB HBM3,3.00,2026-03-20,2026-03-21\n"


def prepared(run, binary, python, gpus, work):
    """A data folder with the cells of a month of a fleet. Gives it, what every command is told, and the number of cells."""
    data = work / f"close-{gpus}"
    shutil.rmtree(data, ignore_errors=True)
    run([binary, "demo", "--days", "1", "--data", data], work)
    (work / "owners.csv").write_text(OWNERS)
    told = ["--data", data, "--config", data / "input/gpuledger.toml"]
    run([binary, "owners", "import", *told, work / "owners.csv"], work)
    run([binary, "ingest", *told], work)
    made = run([python, HERE / "cells.py", data, "--gpus", gpus, "--alone"], work)
    return data, told, json.loads(made.out.splitlines()[-1])["rows"]


def size_of(path):
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.stat().st_size


def waived(binary, told, month):
    """Names of what stands against a close and can be waived."""
    asked = [str(w) for w in [binary, "close", month, "--dry-run", "--format", "json", *told]]
    listed = json.loads(subprocess.run(asked, capture_output=True, text=True, check=False).stdout)
    firm = [i["what"] for i in listed if not i["waivable"]]
    if firm:
        raise SystemExit(f"{month} cannot be closed: {firm}")
    return [w for i in listed for w in ("--waive", i["id"])]


def measure(took, line, row, notes, binary, python, gpus, work):
    """Prints the lines of one size. `took` runs a command and says what it took; with `may_fail` whatever its exit code."""
    data, told, cells = prepared(took, binary, python, gpus, work)
    what = f"{gpus} GPUs, a month"
    asked = [binary, "close", "2026-03", *told]
    waive = waived(binary, told, "2026-03")
    closed = took([*asked, *waive, *(WAIVE if waive else []), "--format", "json"], work)
    document = json.loads(closed.out)
    line(f"{what}: close", cells, closed)
    notes.append(f"{what}: {cells:,} cells, {document['lines']:,} lines, {document['charges']:,} charges, "
                 f"{len(document['files']):,} data files; close {cells / closed.wall:,.0f} cells/s.")
    # the next month has a day of its own: most of its list is what looking at the closed one costs
    next_month = [binary, "close", "2026-04", "--dry-run", *told]
    line(f"{what}: the next month's list, nothing changed", 0, took(next_month, work, may_fail=True))
    (work / "later.csv").write_text(LATER)
    took([binary, "rates", "import", *told, "--force", *WAIVE, work / "later.csv"], work)
    took([binary, "ingest", *told], work)
    line(f"{what}: the next month's list, a price of one day changed", cells, took(next_month, work, may_fail=True))
    aged(data)
    line(f"{what}: verify, from cells", cells, took([binary, "verify", "2026-03", *told], work))
    for document in DOCUMENTS:
        out = work / f"out-{document}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        more = ACCOUNTS if document == "posting" else []
        m = took([binary, "export", "2026-03", "--as", document, "--out", out, *more, *told], work)
        row(f"{what}: export {document}", f"{size_of(out):,} bytes", f"{m.wall:.2f}", f"{m.cpu:.2f}", "", f"{m.mib:.0f}", "")
        shutil.rmtree(out)
    row(f"{what}: cells on disk", f"{size_of(data / 'tables/usage'):,} bytes", "", "", "", "", "")
    shutil.rmtree(data)


def aged(data):
    """As after 13 months: the document of the close names minutes that are not kept any more."""
    path = data / "closes/2026-03.json"
    document = json.loads(path.read_text())
    gone = {"table": "device_minute", "path": "tables/device_minute/day=20520/gone.parquet", "size_bytes": 1, "sha256": "0" * 64}
    document["files"].append(gone)
    path.write_text(json.dumps(document, indent=2))
    newest = max((data / "cuts").glob("*.json"))
    cut = json.loads(newest.read_text())
    cut["minutes_from"] = 30_000
    newest.write_text(json.dumps(cut, indent=2))


def sizes():
    return os.environ.get("GPULEDGER_BENCH_CLOSE", "2000 4000 8000").split()
