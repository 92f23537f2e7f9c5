"""The order of the ledger's steps, for any engine: what aggregator/src/ledger.rs does, a second time.

An engine is a class in duckdb_ledger.py, chdb_ledger.py or polars_ledger.py. It says how to open a table's files, run a
statement and write its rows; everything else stands here, so that all of them run the same rules over the same files in
the same spans of days. What an engine does to the text of a statement stands in its `dialect`.

    ENGINE_ledger.py DATA --columns COLUMNS.csv --weights WEIGHTS.csv --out DIR [--compare] [--steps]

DATA is a data folder whose ledger was built. COLUMNS.csv and WEIGHTS.csv are what `gpuledger sql` says about
`information_schema.columns` and `task_weight`: tables the lake does not have yet still need their columns, and weights
that nobody imported are in the program. The last line on stdout is one JSON object.
"""

import argparse
import csv
import hashlib
import json
import re
import resource
import time
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "sql" / "ledger"
DAY_MS = 86_400_000
# as in aggregator/src/ledger.rs
SPAN_ROWS = 2_000_000
SPAN_DAYS_MAX = 62
NEAR_MS = 900_000

TYPES = {"Int64": "BIGINT", "Int32": "INTEGER", "Utf8": "VARCHAR", "Utf8View": "VARCHAR", "Boolean": "BOOLEAN"}
BUILD = ROOT / "aggregator" / "src" / "ledger.rs"
# what the ledger publishes: by day (usage, and the outputs of steps of a span), and whole
BY_DAY = ["usage", "session_day", "holder_cell", "device_cell", "device_mismatch"]
WHOLE = {"60_run": "run", "61_unit": "unit", "62_request": "request"}


def id63(kind, parts):
    text = kind.encode() + b"".join(b"\x1f" + p.encode() for p in parts)
    return max(int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1, 1)


def steps_of(function):
    """The statements of a function of aggregator/src/ledger.rs, in its order."""
    text = BUILD.read_text()
    body = text[text.index(f"fn {function}("):]
    return re.findall(r'"ledger/(\w+)"', body[:body.index("\n}\n")])


class Statement:
    def __init__(self, path):
        self.name = path.stem
        self.text = path.read_text()
        self.output = re.search(r"^-- output: *(\w+)", self.text, re.M).group(1)
        declared = re.search(r"^-- parameters:(.*)$", self.text, re.M).group(1)
        self.parameters = [w.split()[0] for w in declared.split(",") if w.strip() and w.strip() != "none"]

    def bound(self, values):
        """The text with its parameters as literals; DataFusion binds them as such, too."""
        return re.sub(r"\$(\w+)", lambda m: str({p: values[p] for p in self.parameters}[m.group(1)]), self.text)


class Lake:
    """The files of each table at the version that the newest cut (or build) names."""

    def __init__(self, data):
        self.data = Path(data)
        self.cut = self.newest("cuts")
        self.build = self.newest("builds")

    def newest(self, folder):
        found = sorted((self.data / folder).glob("*.json"))
        return json.loads(found[-1].read_text()) if found else {"tables": {}}

    def files(self, table, version):
        folder = self.data / "tables" / table
        log = folder / "_delta_log"
        live, first = {}, 0
        checkpoints = [int(p.name.split(".")[0]) for p in log.glob("*.checkpoint.parquet")]
        checkpoints = [v for v in checkpoints if v <= version]
        if checkpoints:
            first = max(checkpoints)
            at = log / f"{first:020d}.checkpoint.parquet"
            rows = duckdb.execute(f"SELECT add.path FROM read_parquet('{at}') WHERE add IS NOT NULL").fetchall()
            live = {path: True for (path,) in rows}
            first += 1
        for v in range(first, version + 1):
            for line in (log / f"{v:020d}.json").read_text().splitlines():
                action = json.loads(line)
                if "remove" in action:
                    live.pop(action["remove"]["path"], None)
                if "add" in action:
                    live[action["add"]["path"]] = True
        return [str(folder / path) for path in live]


def rules_hash():
    """As aggregator/src/statement.rs: two ledgers of one hash were made by the same rules."""
    digest = hashlib.sha256()
    for path in sorted(LEDGER.glob("*.sql")):
        digest.update(f"ledger/{path.stem}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


class Ledger:
    """The steps in their order. An engine fills in `open_table`, `create`, `query`, `put_names`, `write`, `keep`
    and `reread`."""

    engine = ""
    version = ""

    def __init__(self, lake, columns, weights, out):
        self.lake, self.weights, self.out = lake, weights, out
        self.columns = {}
        with open(columns, newline="") as f:
            for row in csv.DictReader(f):
                self.columns.setdefault(row["table_name"], []).append((row["column_name"], TYPES[row["data_type"]]))
        self.statements = {p.stem: Statement(p) for p in LEDGER.glob("*.sql")}
        self.took = {}

    def open(self):
        derived = {*BY_DAY, *WHOLE.values(), "quarantine"}
        for table in sorted(set(self.columns) - derived):
            version = self.lake.cut["tables"].get(table)
            if table == "task_weight" and version is None:
                self.open_table(table, [str(self.weights)])
            else:
                self.open_table(table, self.lake.files(table, version) if version is not None else [])

    def timed(self, what, does, *given):
        since = time.monotonic()
        made = does(*given)
        self.took[what] = self.took.get(what, 0) + time.monotonic() - since
        return made

    def step(self, name, values):
        self.timed(name, self.create, self.statements[name], values)

    def rows_of(self, name, values):
        return self.query(self.statements[name], values)

    def names(self):
        rows = [[str(c) for c in r[:5]] for r in self.rows_of("00_name", {})]
        ids = [id63(r[0], r[1:]) for r in rows]
        assert len(set(ids)) == len(ids), "two names have the same id"
        self.put_names(rows, ids)

    def spans(self, first, last):
        rows = {int(d): int(n) for d, n in self.rows_of("15_day_rows", {"day_from": first, "day_to": last + 1})}
        out, size = [], 0
        for day in range(first, last + 1):
            more = rows.get(day, 0)
            if out and size + more <= SPAN_ROWS and day - out[-1][0] < SPAN_DAYS_MAX:
                out[-1] = (out[-1][0], day + 1)
                size += more
            else:
                out.append((day, day + 1))
                size = more
        return out

    def build(self):
        self.open()
        self.names()
        for name in steps_of("whole_history"):
            self.step(name, {})
        first, last = (int(v) for v in self.rows_of("14_days", {})[0])
        for name in steps_of("failures"):
            self.step(name, {"day_from": first - 1, "near_day": first - 1, "day_to": last + 2})
        spans = self.spans(first, last)
        for i, (a, b) in enumerate(spans):
            lo, hi = a * DAY_MS, b * DAY_MS
            values = {"day_from": a - 1, "day_to": b + 1, "lo_ms": lo, "hi_ms": hi,
                      "near_from_ms": lo - NEAR_MS, "near_to_ms": hi + NEAR_MS}
            for name in steps_of("span_steps"):
                self.step(name, values)
            self.timed("usage, written", self.write, self.statements["50_usage"], values, f"usage-{i}.parquet")
            for table in BY_DAY[1:]:
                self.timed(f"{table}, written", self.keep, table, f"{table}-{i}.parquet")
        self.reread("session_day", f"{self.out}/session_day-*.parquet")
        for name, table in WHOLE.items():
            self.timed(f"{table}, written", self.write, self.statements[name], {}, f"{table}.parquet")
        return spans

    def compare(self, table):
        """Rows of either side that the other lacks, as DuckDB finds them."""
        files = ", ".join(f"'{f}'" for f in self.lake.files(table, self.lake.build["tables"][table]))
        empty = ", ".join(f'CAST(NULL AS {t}) AS "{c}"' for c, t in self.columns[table])
        by_day = ", hive_partitioning = true, hive_types = {'day': INTEGER}" if "/day=" in files else ""
        named = ", ".join(f'CAST("{c}" AS {t}) AS "{c}"' for c, t in self.columns[table])
        theirs = f"SELECT {named} FROM read_parquet([{files}]{by_day})" if files else f"SELECT {empty} WHERE false"
        ours = f"SELECT {named} FROM read_parquet('{self.out}/{table}*.parquet')"
        count = lambda q: duckdb.execute(f"SELECT count(*) FROM ({q})").fetchone()[0]
        return {
            "rows_here": count(ours), "rows_in_lake": count(theirs),
            "only_here": count(f"({ours}) EXCEPT ALL ({theirs})"), "only_in_lake": count(f"({theirs}) EXCEPT ALL ({ours})"),
        }


def main(kind):
    ask = argparse.ArgumentParser(description=f"the ledger by {kind.engine}")
    ask.add_argument("data", type=Path)
    ask.add_argument("--columns", required=True)
    ask.add_argument("--weights", required=True)
    ask.add_argument("--out", type=Path, required=True, help="folder for the Parquet files that are written")
    ask.add_argument("--compare", action="store_true", help="compare with the tables of the lake's newest build")
    ask.add_argument("--steps", action="store_true", help="say how long each statement took")
    asked = ask.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for old in asked.out.glob("*.parquet"):
        old.unlink()
    lake = Lake(asked.data)
    if lake.build["rules"] != rules_hash():
        raise SystemExit("the lake's ledger was built by other rules than those in sql/ledger: build the program again")
    ledger = kind(lake, asked.columns, asked.weights, asked.out)
    since = time.monotonic()
    spans = ledger.build()
    said = {"engine": kind.engine, "version": kind.version, "seconds": round(time.monotonic() - since, 3), "spans": len(spans)}
    used = resource.getrusage(resource.RUSAGE_SELF)
    said["cpu"], said["peak_mib"] = round(used.ru_utime + used.ru_stime, 3), used.ru_maxrss // 1024
    if asked.steps:
        said["steps"] = {k: round(v, 3) for k, v in sorted(ledger.took.items(), key=lambda i: -i[1])}
    if asked.compare:
        said["compared"] = {t: ledger.compare(t) for t in [*BY_DAY, *WHOLE.values()]}
    print(json.dumps(said))
