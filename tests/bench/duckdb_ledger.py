"""Runs the rules of sql/ledger in DuckDB over the files of a lake, and compares the usage with what the lake has.

    duckdb_ledger.py DATA --columns COLUMNS.csv --weights WEIGHTS.csv [--out DIR] [--compare]

DATA is a data folder whose ledger was built. COLUMNS.csv and WEIGHTS.csv are what `gpuledger sql` says about
`information_schema.columns` and `task_weight`: tables the lake does not have yet still need their columns, and weights
that nobody imported are in the program. The last line on stdout is one JSON object.

The order of the steps is the order of the files' numbers; their parameters are read from their headers. Days, spans and
ids are found as aggregator/src/ledger.rs and schema/src/id.rs find them. The text of a statement is given to DuckDB as
it stands, but for what `dialect` and `SETTINGS` do.
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

# What the rules take for granted in their own engine.
SETTINGS = [
    "SET threads = 2",
    "SET TimeZone = 'UTC'",
    # BIGINT / BIGINT is a BIGINT
    "SET integer_division = true",
    # ascending: NULL last; descending: NULL first
    "SET default_null_order = 'nulls_last_on_asc_first_on_desc'",
    # results are compared as sets, and this is faster
    "SET preserve_insertion_order = false",
    "CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern)",
]


def dialect(text, values):
    """The statement as DuckDB takes it: parameters become literals (DataFusion binds them as such, too), and exact
    128-bit division is written with HUGEINT, because DuckDB divides DECIMAL as DOUBLE; words it reserves are quoted."""
    text = re.sub(r"\$(\w+)", lambda m: str(values[m.group(1)]), text)
    text = re.sub(r"\b(at|both)\b", r'"\1"', text)
    return text.replace("DECIMAL(38, 0)", "HUGEINT")


def id63(kind, parts):
    text = kind.encode() + b"".join(b"\x1f" + p.encode() for p in parts)
    return max(int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1, 1)


class Statement:
    def __init__(self, path):
        self.name = path.stem
        self.number = int(path.stem.split("_")[0])
        self.text = path.read_text()
        self.output = re.search(r"^-- output: *(\w+)", self.text, re.M).group(1)
        declared = re.search(r"^-- parameters:(.*)$", self.text, re.M).group(1)
        self.parameters = [w.split()[0] for w in declared.split(",") if w.strip() and w.strip() != "none"]


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
    def __init__(self, lake, columns, weights, out):
        self.lake, self.out = lake, out
        self.columns = {}
        with open(columns, newline="") as f:
            for row in csv.DictReader(f):
                self.columns.setdefault(row["table_name"], []).append((row["column_name"], TYPES[row["data_type"]]))
        self.weights = weights
        self.statements = [Statement(p) for p in sorted(LEDGER.glob("*.sql"))]
        self.took = {}
        self.db = duckdb.connect(":memory:")
        for setting in SETTINGS:
            self.db.execute(setting)

    def source(self, table, files):
        if not files:
            what = ", ".join(f"CAST(NULL AS {t}) AS \"{c}\"" for c, t in self.columns[table])
            return f"SELECT {what} WHERE false"
        listed = ", ".join(f"'{f}'" for f in files)
        named = ", ".join(f'"{c}"' for c, _ in self.columns[table])
        by_day = ", hive_partitioning = true, hive_types = {'day': INTEGER}" if "/day=" in files[0] else ""
        return f"SELECT {named} FROM read_parquet([{listed}]{by_day})"

    def open(self):
        derived = {"usage", "session_day", "run", "unit"}
        for table in set(self.columns) - derived - {"quarantine"}:
            version = self.lake.cut["tables"].get(table)
            files = self.lake.files(table, version) if version is not None else []
            if table == "task_weight" and version is None:
                names = ", ".join(f"'{c}': '{t}'" for c, t in self.columns[table])
                source = f"SELECT * FROM read_csv('{self.weights}', header = true, columns = {{{names}}})"
            else:
                source = self.source(table, files)
            self.db.execute(f'CREATE VIEW "{table}" AS {source}')

    def text(self, statement, values):
        return dialect(statement.text, {p: values[p] for p in statement.parameters})

    def step(self, statement, values):
        since = time.monotonic()
        self.db.execute(f'CREATE OR REPLACE TABLE "{statement.output}" AS {self.text(statement, values)}')
        self.took[statement.name] = self.took.get(statement.name, 0) + time.monotonic() - since

    def rows(self, number, values):
        statement = self.number(number)
        return self.db.execute(self.text(statement, values)).fetchall()

    def number(self, number):
        return next(s for s in self.statements if s.number == number)

    def names(self):
        rows = self.rows(0, {})
        ids = [id63(r[0], r[1:5]) for r in rows]
        assert len(set(ids)) == len(ids), "two names have the same id"
        columns = [list(c) for c in zip(*rows)] if rows else [[]] * 5
        named = ", ".join(f"unnest(CAST(${i + 1} AS VARCHAR[])) AS {c}" for i, c in enumerate(["kind", "a", "b", "c", "d"]))
        self.db.execute(f"CREATE TABLE name AS SELECT {named}, unnest(CAST($6 AS BIGINT[])) AS id", [*columns, ids])

    def spans(self, first, last):
        rows = dict(self.rows(15, {"day_from": first, "day_to": last + 1}))
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

    def write(self, query, name):
        self.db.execute(f"COPY ({query}) TO '{self.out / name}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3)")

    def build(self):
        self.open()
        self.names()
        for s in self.statements:
            if 0 < s.number < 13:
                self.step(s, {})
        (first, last), = self.rows(14, {})
        window = {"day_from": first - 1, "day_to": last + 2}
        self.step(self.number(20), window)
        self.step(self.number(13), window)
        spans = self.spans(first, last)
        for i, (a, b) in enumerate(spans):
            lo, hi = a * DAY_MS, b * DAY_MS
            values = {"day_from": a - 1, "day_to": b + 1, "lo_ms": lo, "hi_ms": hi,
                      "near_from_ms": lo - NEAR_MS, "near_to_ms": hi + NEAR_MS}
            for s in self.statements:
                if 20 <= s.number <= 51 and s.number != 50:
                    self.step(s, values)
            since = time.monotonic()
            self.write(self.text(self.number(50), values), f"usage-{i}.parquet")
            self.write("FROM session_day", f"session_day-{i}.parquet")
            self.took["50_usage, written"] = self.took.get("50_usage, written", 0) + time.monotonic() - since
        self.db.execute(f"CREATE OR REPLACE TABLE session_day AS FROM read_parquet('{self.out}/session_day-*.parquet')")
        self.write(self.text(self.number(60), {}), "run.parquet")
        self.write(self.text(self.number(61), {}), "unit.parquet")
        return spans

    def compare(self, table):
        """Rows of either side that the other lacks."""
        theirs = self.source(table, self.lake.files(table, self.lake.build["tables"][table]))
        named = ", ".join(f'CAST("{c}" AS {t}) AS "{c}"' for c, t in self.columns[table])
        ours = f"SELECT {named} FROM read_parquet('{self.out}/{table}*.parquet')"
        count = lambda q: self.db.execute(f"SELECT count(*) FROM ({q})").fetchone()[0]
        return {
            "rows_here": count(ours), "rows_in_lake": count(theirs),
            "only_here": count(f"({ours}) EXCEPT ALL ({theirs})"), "only_in_lake": count(f"({theirs}) EXCEPT ALL ({ours})"),
        }


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    ledger = Ledger(lake, asked.columns, asked.weights, asked.out)
    since = time.monotonic()
    spans = ledger.build()
    said = {"seconds": round(time.monotonic() - since, 3), "spans": len(spans), "duckdb": duckdb.__version__}
    said["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if asked.steps:
        said["steps"] = {k: round(v, 3) for k, v in sorted(ledger.took.items(), key=lambda i: -i[1])}
    if asked.compare:
        said["compared"] = {t: ledger.compare(t) for t in ["usage", "session_day", "run", "unit"]}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
