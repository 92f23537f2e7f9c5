"""The ledger by DuckDB; see ledger.py."""

import re

import duckdb

import ledger

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


def dialect(text):
    """Exact 128-bit division is written with HUGEINT, because DuckDB divides DECIMAL as DOUBLE; words it reserves are
    quoted."""
    return re.sub(r"\b(at|both)\b", r'"\1"', text).replace("DECIMAL(38, 0)", "HUGEINT")


class DuckDb(ledger.Ledger):
    engine, version = "DuckDB", duckdb.__version__

    def __init__(self, *given):
        super().__init__(*given)
        self.db = duckdb.connect(":memory:")
        for setting in SETTINGS:
            self.db.execute(setting)

    def open_table(self, table, files):
        columns = self.columns[table]
        if not files:
            what = ", ".join(f"CAST(NULL AS {t}) AS \"{c}\"" for c, t in columns)
            source = f"SELECT {what} WHERE false"
        elif files[0].endswith(".csv"):
            types = ", ".join(f"'{c}': '{t}'" for c, t in columns)
            source = f"SELECT * FROM read_csv('{files[0]}', header = true, columns = {{{types}}})"
        else:
            listed = ", ".join(f"'{f}'" for f in files)
            named = ", ".join(f'"{c}"' for c, _ in columns)
            by_day = ", hive_partitioning = true, hive_types = {'day': INTEGER}" if "/day=" in files[0] else ""
            source = f"SELECT {named} FROM read_parquet([{listed}], union_by_name = true{by_day})"
        self.db.execute(f'CREATE VIEW "{table}" AS {source}')

    def create(self, statement, values):
        self.db.execute(f'CREATE OR REPLACE TABLE "{statement.output}" AS {dialect(statement.bound(values))}')

    def query(self, statement, values):
        return self.db.execute(dialect(statement.bound(values))).fetchall()

    def put_names(self, rows, ids):
        columns = [list(c) for c in zip(*rows)] if rows else [[]] * 5
        named = ", ".join(f"unnest(CAST(${i + 1} AS VARCHAR[])) AS {c}" for i, c in enumerate("kind a b c d".split()))
        self.db.execute(f"CREATE TABLE name AS SELECT {named}, unnest(CAST($6 AS BIGINT[])) AS id", [*columns, ids])

    def write(self, statement, values, name):
        self.db.execute(f"COPY ({dialect(statement.bound(values))}) TO '{self.out / name}' "
                        "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3)")

    def keep(self, table, name):
        self.db.execute(f"COPY {table} TO '{self.out / name}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3)")

    def reread(self, table, files):
        self.db.execute(f"CREATE OR REPLACE TABLE {table} AS FROM read_parquet('{files}')")


if __name__ == "__main__":
    ledger.main(DuckDb)
