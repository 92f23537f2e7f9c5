"""A month of usage cells of a fleet that does not exist, put into a data folder whose ledger was built.

    cells.py DATA --gpus 8000 [--split PERCENT] [--alone]

DATA is a data folder (that of `gpuledger demo` will do; take a copy). Its tables `usage`, `run` and `unit` are replaced by those of
nodes of eight cards in March 2026, cluster `alpha`, whose jobs hold eight, four or one card each, follow each other with short gaps,
and start and end at odd milliseconds; what its newest build names are then these tables. Prices, owners and pools stay. So a charge or a
close from cells can be measured at a size for which building the ledger of minutes would take hours. The same arguments give the same
rows. --split makes accounts of that many percent of the jobs belong to two teams (an owner table with splits is needed for that).
--alone makes what was observed fit: the cards and one reading of their cluster, and nothing else, as in a lake whose minutes are not
kept any more. Then every check of a close holds, and the month can be closed.

Needs Python packages duckdb, pyarrow and deltalake.
"""

import argparse
import json
import shutil
from pathlib import Path

import duckdb
from deltalake import DeltaTable, write_deltalake

CELL_MS = 900_000
FROM_DAY, TO_DAY = 20512, 20545  # 28 February to 1 April 2026, UTC: every zone's March lies inside
FROM_MS, TO_MS = FROM_DAY * 86_400_000, TO_DAY * 86_400_000
CONFIGURATION = {"delta.enableExpiredLogCleanup": "false", "delta.checkpointInterval": "50"}

# a random-looking whole number below `of`, the same for the same key
HASH = "CAST(hash({key}) % {of} AS BIGINT)"


def lanes(db, gpus):
    """Lanes are groups of cards that jobs hold one after the other: a third of the nodes each has lanes of 8, 4 and 1 card."""
    db.execute(f"""
        CREATE TABLE lane AS
        SELECT n.node, l.lane, l.lane * w.width AS first_card, w.width
        FROM range({(gpus + 7) // 8}) AS n(node)
        JOIN (VALUES (0, 8), (1, 4), (2, 1)) AS w(kind, width) ON w.kind = n.node % 3
        JOIN range(8) AS l(lane) ON l.lane < 8 / w.width""")
    jobs = HASH.format(key="node, lane, n, 'length'", of="72000000")
    gap = HASH.format(key="node, lane, n, 'gap'", of="5400000")
    db.execute(f"""
        CREATE TABLE job AS
        SELECT *, row_number() OVER (ORDER BY node, lane, n) AS number
        FROM (
            SELECT node, lane, first_card, width, n, {FROM_MS} + sum(ran + gap) OVER w - ran AS start_ms, {FROM_MS} + sum(ran + gap) OVER w AS end_ms
            FROM (SELECT l.*, n, 600000 + {jobs} AS ran, {gap} AS gap FROM lane l CROSS JOIN range(100) AS r(n))
            WINDOW w AS (PARTITION BY node, lane ORDER BY n))
        WHERE start_ms < {TO_MS}""")
    db.execute(f"""
        CREATE TABLE piece AS
        SELECT node, lane, first_card, width, start_ms AS from_ms, least(end_ms, {TO_MS}) AS to_ms, 1000000000 + number AS holder FROM job
        UNION ALL
        SELECT node, lane, first_card, width, coalesce(lag(end_ms) OVER (PARTITION BY node, lane ORDER BY n), {FROM_MS}), start_ms, 0 FROM job
        UNION ALL
        SELECT node, lane, first_card, width, max(end_ms), {TO_MS}, 0 FROM job GROUP BY node, lane, first_card, width""")
    db.execute("DELETE FROM piece WHERE from_ms >= to_ms")


def usage_of(db, day):
    from_ms, to_ms = day * 86_400_000, (day + 1) * 86_400_000
    busy = HASH.format(key="holder, cell, card", of="1000")
    return db.sql(f"""
        WITH cell AS (
            SELECT p.*, c.cell, greatest(p.from_ms, c.cell * {CELL_MS}) AS a, least(p.to_ms, (c.cell + 1) * {CELL_MS}) AS b
            FROM piece p JOIN range({from_ms // CELL_MS}, {to_ms // CELL_MS}) AS c(cell)
                ON p.from_ms < (c.cell + 1) * {CELL_MS} AND p.to_ms > c.cell * {CELL_MS}
            WHERE p.from_ms < {to_ms} AND p.to_ms > {from_ms}),
        card AS (SELECT *, first_card + k AS card FROM cell JOIN range(8) AS r(k) ON k < width),
        measured AS (SELECT *, 1 + node * 8 + card AS unit_id, b - a AS len,
            CASE WHEN holder = 0 THEN 0 ELSE (b - a) * {busy} // 1000 END AS busy FROM card)
        SELECT CAST({day} AS INTEGER) AS day, unit_id, cell, holder, a AS from_ms, b AS to_ms, busy AS busy_ms,
            CASE WHEN holder = 0 THEN 0 ELSE len - busy END AS held_idle_ms, CAST(0 AS BIGINT) AS held_unmeasured_ms,
            CASE WHEN holder = 0 THEN len ELSE 0 END AS unallocated_ms, CAST(0 AS BIGINT) AS unavailable_ms,
            CAST(0 AS BIGINT) AS unobserved_ms, CASE WHEN holder = 0 THEN 0 ELSE len END AS covered_ms,
            CASE WHEN holder <> 0 THEN busy * 7 // 10 END AS effective_ms, CAST(0 AS BIGINT) AS held_zero_ms,
            CAST(0 AS BIGINT) AS over_share_ms, CAST(0 AS BIGINT) AS conflict_ms, CAST(0 AS BIGINT) AS estimated_ms,
            CAST(0 AS BIGINT) AS foreign_ms, CASE WHEN holder <> 0 THEN 40000000000 + busy END AS mem_peak_bytes,
            len * 300 + busy AS energy_mj, CASE WHEN holder <> 0 THEN 'sm' END AS basis, false AS capacity_unknown,
            CAST(0 AS BIGINT) AS stranded_ms
        FROM measured ORDER BY unit_id, cell, holder, from_ms""").to_arrow_table()


def empty_columns(table, given):
    """NULL for every column of a table that is not given, as SQL."""
    kinds = {"long": "BIGINT", "string": "VARCHAR", "boolean": "BOOLEAN", "integer": "INTEGER"}
    columns = [(f.name, kinds[f.type.type]) for f in table.schema().fields]
    return ", ".join(f'{given[name]} AS "{name}"' if name in given else f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in columns)


def put(data, name, rows, **more):
    path = data / "tables" / name
    shutil.rmtree(path)
    write_deltalake(str(path), rows, configuration=CONFIGURATION, **more)


def observed(data, db, cards, newest_cut):
    """Cards that are known for the whole month and a reading that speaks of it; everything else that was observed goes."""
    cut = json.loads(newest_cut.read_text())
    known = {
        "device": {
            "device_id": "1 + card", "first_seen_ms": f"CAST({FROM_MS} AS BIGINT)", "cluster": "'alpha'",
            "node": "'alpha-gpu' || CAST(card // 8 AS VARCHAR)", "uuid": "'GPU-' || CAST(card AS VARCHAR)",
            "model": "CASE WHEN card // 8 % 4 = 0 THEN 'NVIDIA A100-SXM4-80GB' ELSE 'NVIDIA H100 80GB HBM3' END",
            "memory_bytes": "CAST(85899345920 AS BIGINT)", "queue": "'train'", "scheduler": "'slurm'",
        },
        "reading": {
            "source": "'slurm'", "kind": "'scheduler'", "cluster": "'alpha'", "read_at_ms": f"CAST({TO_MS} AS BIGINT)",
            "from_ms": f"CAST({FROM_MS} AS BIGINT)", "to_ms": f"CAST({TO_MS} AS BIGINT)", "ok": "true", "rows": "CAST(0 AS BIGINT)",
        },
    }
    gone = ["device_minute", "process_minute", "job", "allocation", "allocation_device", "job_average", "node_state", "node_offer",
            "device_claim", "queue_minute", "sample", "calibration", "quarantine", "inventory"]
    for name in [*known, *gone]:
        if name not in cut["tables"]:
            continue
        table = DeltaTable(str(data / "tables" / name))
        of = f"range({cards}) AS r(card)" if name == "device" else f"range({1 if name in known else 0}) AS r(card)"
        by_day = {"partition_by": ["day"]} if table.metadata().partition_columns else {}
        put(data, name, db.sql(f"SELECT {empty_columns(table, known.get(name, {}))} FROM {of}").to_arrow_table(), **by_day)
        cut["tables"][name] = DeltaTable(str(data / "tables" / name)).version()
    newest_cut.write_text(json.dumps(cut, indent=2))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("data", type=Path)
    args.add_argument("--gpus", type=int, required=True)
    args.add_argument("--split", type=int, default=0)
    args.add_argument("--alone", action="store_true")
    args = args.parse_args()
    db = duckdb.connect()
    lanes(db, args.gpus)
    account = f"CASE WHEN number % 100 < {args.split} THEN 'shared' ELSE 'a' || CAST(number % 40 AS VARCHAR) END"
    task = "['train', 'finetune', 'infer', 'eval', 'debug', 'batch'][CAST(number % 6 AS INTEGER) + 1]"
    given = {
        "holder": "1000000000 + number", "job_key": "1000000000 + number", "kind": "'scheduler'", "cluster": "'alpha'",
        "job_raw": "CAST(number AS VARCHAR)", "attempt": "CAST(1 AS BIGINT)", "user": "'u' || CAST(number % 400 AS VARCHAR)",
        "account": account, "queue": "'train'", "task_type": task, "state": "'COMPLETED'", "start_ms": "CAST(start_ms AS BIGINT)",
        "end_ms": "CAST(end_ms AS BIGINT)", "open": "false", "gpu_count": "CAST(width AS BIGINT)", "preemptible": "number % 5 = 0",
    }
    run = DeltaTable(str(args.data / "tables" / "run"))
    put(args.data, "run", db.sql(f"SELECT {empty_columns(run, given)} FROM job ORDER BY number").to_arrow_table())
    given = {
        "unit_id": "1 + card", "kind": "'device'", "cluster": "'alpha'", "node": "'alpha-gpu' || CAST(card // 8 AS VARCHAR)",
        "model": "CASE WHEN card // 8 % 4 = 0 THEN 'NVIDIA A100-SXM4-80GB' ELSE 'NVIDIA H100 80GB HBM3' END",
        "uuid": "'GPU-' || CAST(card AS VARCHAR)", "memory_bytes": "CAST(85899345920 AS BIGINT)", "queue": "'train'",
    }
    unit = DeltaTable(str(args.data / "tables" / "unit"))
    cards = (args.gpus + 7) // 8 * 8
    put(args.data, "unit", db.sql(f"SELECT {empty_columns(unit, given)} FROM range({cards}) AS r(card)").to_arrow_table())
    rows = 0
    for day in range(FROM_DAY, TO_DAY):
        found = usage_of(db, day)
        rows += found.num_rows
        if day == FROM_DAY:
            put(args.data, "usage", found, partition_by=["day"])
        else:
            write_deltalake(str(args.data / "tables" / "usage"), found, mode="append", partition_by=["day"])
    if args.alone:
        observed(args.data, db, cards, max((args.data / "cuts").glob("*.json")))
        for name in ("session_day", "holder_cell", "device_cell", "device_mismatch", "request"):
            shutil.rmtree(args.data / "tables" / name, ignore_errors=True)
    newest = max((args.data / "builds").glob("*.json"))
    build = json.loads(newest.read_text())
    for name in ("usage", "run", "unit"):
        build["tables"][name] = DeltaTable(str(args.data / "tables" / name)).version()
    if args.alone:
        build["tables"] = {name: build["tables"][name] for name in ("usage", "run", "unit")}
    build["days"] = [FROM_DAY, TO_DAY - 1]
    newest.write_text(json.dumps(build, indent=2))
    print(json.dumps({"gpus": cards, "rows": rows, "jobs": db.execute("SELECT count(*) FROM job").fetchone()[0]}))


if __name__ == "__main__":
    main()
