"""The ledger by chDB, ClickHouse in a process; see ledger.py."""

import json
import os

import chdb
import sqlglot
from chdb.session import Session
from sqlglot import exp
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables

import ledger

SETTINGS = {
    "max_threads": "2",
    "session_timezone": "'UTC'",
    # standard SQL's NULL: outer joins give it, a type can be it, an aggregate of nothing is it
    "join_use_nulls": "1",
    "cast_keep_nullable": "1",
    "data_type_default_nullable": "1",
    "aggregate_functions_null_for_empty": "1",
    "union_default_mode": "'DISTINCT'",
    # a name in a clause is a column before it is an alias
    "prefer_column_name_to_alias": "1",
    "allow_suspicious_low_cardinality_types": "1",
    "output_format_parquet_compression_method": "'zstd'",
    "engine_file_truncate_on_insert": "1",
}
KINDS = {"BIGINT": "Nullable(Int64)", "INTEGER": "Nullable(Int32)", "VARCHAR": "Nullable(String)", "BOOLEAN": "Nullable(Bool)"}


def call(name, *given):
    return exp.Anonymous(this=name, expressions=[g.copy() for g in given])


def node(n):
    """What ClickHouse calls otherwise: whole division, bits, ranges; counts are unsigned there and are made Int64."""
    kind = type(n)
    binary = {exp.Div: "intDiv", exp.BitwiseAnd: "bitAnd", exp.BitwiseOr: "bitOr", exp.BitwiseRightShift: "bitShiftRight",
              exp.RegexpLike: "match"}
    if kind in binary:
        return call(binary[kind], n.this, n.expression)
    if kind is exp.GenerateSeries:
        return call("range", call("assumeNotNull", n.args["start"]), call("assumeNotNull", n.args["end"]))
    if kind is exp.LogicalOr:
        return call("max", n.this)
    if kind is exp.LogicalAnd:
        return call("min", n.this)
    if kind is exp.Chr:
        return call("char", *n.expressions)
    if kind is exp.StrPosition:
        return call("position", n.this, n.args["substr"])
    if kind is exp.ArrayAgg:
        return call("groupArray", n.this.this if isinstance(n.this, exp.Order) else n.this)
    if kind is exp.ArrayToString:
        return call("arrayStringConcat", n.this, n.expression)
    counted = kind is exp.Window and isinstance(n.this, (exp.Count, exp.RowNumber, exp.Rank))
    if counted or (kind is exp.Count and not isinstance(n.parent, exp.Window)):
        return call("toInt64", n)
    return n


def starred(select):
    return any(isinstance(e, exp.Column) and isinstance(e.this, exp.Star) for e in select.expressions)


def named(select):
    """`t.x` is a column `x` to the reader of a subquery; the right side of a UNION has no say in names."""
    if isinstance(select.parent, exp.SetOperation) and select.arg_key == "expression":
        return [e.this if type(e) is exp.Alias else e for e in select.expressions]
    bare = lambda e: type(e) is exp.Column and e.table and not isinstance(e.this, exp.Star)
    return [exp.alias_(e.copy(), e.name, quoted=True) if bare(e) else e for e in select.expressions]


def dialect(text, known):
    """The statement as ClickHouse takes it; `known` has the columns of every table, for `t.*` of a join. Results are
    compared as sets: the order of the rows is left out."""
    text = "\n".join(line.split("--")[0] for line in text.replace("DECIMAL(38, 0)", "HUGEINT").split("\n"))
    tree = sqlglot.parse_one(text, read="duckdb")
    tree.set("order", None)
    for n in reversed(list(tree.walk())):
        other = node(n)
        if other is not n:
            n.replace(other)
    if any(starred(s) for s in tree.find_all(exp.Select)):
        tree = qualify_columns(qualify_tables(tree), schema=known, expand_alias_refs=False)
    for select in tree.find_all(exp.Select):
        select.set("expressions", named(select))
    return tree.sql(dialect="clickhouse")


class ChDb(ledger.Ledger):
    engine, version = "chDB", chdb.__version__

    def __init__(self, *given):
        super().__init__(*given)
        self.session, self.known = Session(), {}
        for setting, value in SETTINGS.items():
            self.session.query(f"SET {setting} = {value}")

    def ask(self, sql):
        rows = self.session.query(sql, "JSONCompactEachRow").bytes().decode()
        return [json.loads(line) for line in rows.splitlines() if line]

    def learn(self, table):
        self.known[table] = {row[0]: "bigint" for row in self.ask(f"DESCRIBE TABLE `{table}`")}

    def open_table(self, table, files):
        columns = self.columns[table]
        if not files:
            what = ", ".join(f"CAST(NULL AS {KINDS[t]}) AS `{c}`" for c, t in columns)
            source = f"SELECT {what} WHERE 0"
        elif files[0].endswith(".csv"):
            types = ", ".join(f"`{c}` {KINDS[t]}" for c, t in columns)
            source = f"SELECT * FROM file('{files[0]}', CSVWithNames, '{types}')"
        else:
            base = os.path.commonpath([os.path.dirname(f) for f in files])
            below = [f[len(base) + 1:] for f in files]
            at = f"{base}/{{{','.join(below)}}}" if len(below) > 1 else files[0]
            by_day = "/day=" in files[0]
            types = ", ".join(f"`{c}` {KINDS[t]}" for c, t in columns if not (by_day and c == "day"))
            day = "toInt32(extract(_path, 'day=(-?[0-9]+)')) AS day"
            what = ", ".join(day if by_day and c == "day" else f"`{c}`" for c, _ in columns)
            source = f"SELECT {what} FROM file('{at}', Parquet, '{types}')"
        self.session.query(f"CREATE VIEW `{table}` AS {source}")
        self.learn(table)

    def create(self, statement, values):
        self.session.query(f"DROP TABLE IF EXISTS `{statement.output}`")
        sql = dialect(statement.bound(values), self.known)
        self.session.query(f"CREATE TABLE `{statement.output}` ENGINE = Memory AS {sql}")
        self.learn(statement.output)

    def query(self, statement, values):
        return self.ask(dialect(statement.bound(values), self.known))

    def put_names(self, rows, ids):
        text = lambda v: "'" + v.replace("\\", "\\\\").replace("'", "\\'") + "'"
        kinds = ", ".join(f"{c} Nullable(String)" for c in "kind a b c d".split())
        self.session.query(f"CREATE TABLE name ({kinds}, id Nullable(Int64)) ENGINE = Memory")
        self.learn("name")
        if rows:
            tuples = ", ".join(f"({', '.join(map(text, r))}, {i})" for r, i in zip(rows, ids))
            self.session.query(f"INSERT INTO name VALUES {tuples}")

    def write(self, statement, values, name):
        sql = dialect(statement.bound(values), self.known)
        self.session.query(f"INSERT INTO FUNCTION file('{self.out / name}', Parquet) {sql}")

    def keep(self, table, name):
        self.session.query(f"INSERT INTO FUNCTION file('{self.out / name}', Parquet) SELECT * FROM `{table}`")

    def reread(self, table, files):
        self.session.query(f"DROP TABLE IF EXISTS {table}")
        self.session.query(f"CREATE TABLE {table} ENGINE = Memory AS SELECT * FROM file('{files}', Parquet)")
        self.learn(table)


if __name__ == "__main__":
    ledger.main(ChDb)
