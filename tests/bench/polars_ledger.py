"""The ledger by Polars' SQL; see ledger.py. Two small statements of the history need what Polars lacks (`00_name` a bitwise
aggregate, `13_failure` a window frame): DuckDB runs them, and their time is counted."""

import os

os.environ.setdefault("POLARS_MAX_THREADS", "2")

import duckdb
import polars as pl
import sqlglot
from sqlglot import exp

import duckdb_ledger
import ledger

KINDS = {"BIGINT": pl.Int64, "INTEGER": pl.Int32, "VARCHAR": pl.String, "BOOLEAN": pl.Boolean}
BY_DUCKDB = {"00_name", "13_failure"}


def call(name, *given):
    return exp.Anonymous(this=name, expressions=[g.copy() for g in given])


def zero():
    return exp.Literal.number(0)


def any_of(window_or_aggregate, inner):
    """bool_or, as a maximum."""
    window_or_aggregate = window_or_aggregate.copy()
    greatest = exp.Max(this=exp.cast(inner.copy(), "int"))
    if isinstance(window_or_aggregate, exp.Window):
        window_or_aggregate.set("this", greatest)
        greatest = window_or_aggregate
    return exp.Paren(this=exp.GT(this=greatest, expression=zero()))


def before(n):
    """A frame that ends one row before, where Polars knows frames that end at the row itself."""
    whole = n.copy()
    whole.args["spec"].set("end", "CURRENT ROW")
    whole.args["spec"].set("end_side", None)
    if isinstance(n.this, exp.Sum):
        return exp.Paren(this=exp.Sub(this=whole, expression=exp.Coalesce(this=n.this.this.copy(), expressions=[zero()])))
    last = n.copy()
    last.set("spec", None)
    last.set("this", exp.Lag(this=n.this.this.copy()))
    whole.set("this", type(n.this)(this=last))
    return whole


def node(n):
    kind = type(n)
    if kind is exp.Div:
        # both branches of a CASE are computed: a divisor that is 0 in the other one must not stop it
        by = n.expression if isinstance(n.expression, exp.Literal) else exp.Nullif(this=n.expression.copy(), expression=zero())
        return call("DIV", n.this, by)
    if kind is exp.BitwiseRightShift:
        return call("DIV", n.this, exp.cast(call("POW", exp.Literal.number(2), n.expression), "bigint"))
    if kind is exp.LogicalOr and not isinstance(n.parent, exp.Window):
        return any_of(n, n.this)
    if kind is exp.Chr:
        return exp.Literal.string(chr(int(n.expressions[0].name)))
    if kind is exp.RegexpLike:
        return call("REGEXP_LIKE", n.this, n.expression)
    if kind is exp.Window:
        if isinstance(n.this, exp.LogicalOr):
            return any_of(n, n.this.this)
        spec = n.args.get("spec")
        if spec is not None and spec.args.get("end_side") == "PRECEDING" and isinstance(n.this, (exp.Sum, exp.Max)):
            return before(n)
    return n


def first_select(n):
    while isinstance(n, (exp.SetOperation, exp.Subquery)):
        n = n.this
    return n


def dialect(text):
    """Every name is quoted, and the sides of a UNION have the names of the first. Results are compared as sets."""
    tree = sqlglot.parse_one("\n".join(line.split("--")[0] for line in text.split("\n")), read="duckdb")
    tree.set("order", None)
    for n in reversed(list(tree.walk())):
        other = node(n)
        if other is not n:
            n.replace(other)
    for union in tree.find_all(exp.SetOperation):
        names = [e.alias_or_name for e in first_select(union.this).expressions]
        right = first_select(union.expression)
        if len(right.expressions) == len(names) and not any(isinstance(e, exp.Star) for e in right.expressions):
            bare = [e.this if type(e) is exp.Alias else e for e in right.expressions]
            right.set("expressions", [exp.alias_(e.copy(), name, quoted=True) for e, name in zip(bare, names)])
    return tree.sql(dialect="duckdb", identify=True)


class Polars(ledger.Ledger):
    engine, version = "Polars", pl.__version__

    def __init__(self, *given):
        super().__init__(*given)
        self.context = pl.SQLContext()

    def open_table(self, table, files):
        columns = self.columns[table]
        schema = {c: KINDS[t] for c, t in columns}
        if not files:
            frame = pl.LazyFrame(schema=schema)
        elif files[0].endswith(".csv"):
            frame = pl.scan_csv(files[0], schema=schema)
        else:
            by_day = "/day=" in files[0]
            hive = {"day": pl.Int32} if by_day else None
            frame = pl.scan_parquet(files, hive_partitioning=by_day, hive_schema=hive, missing_columns="insert",
                                    schema={c: t for c, t in schema.items() if not (by_day and c == "day")})
            frame = frame.select(list(schema))
        self.context.register(table, frame)

    def rows(self, statement, values):
        if statement.name not in BY_DUCKDB:
            return self.context.execute(dialect(statement.bound(values))).collect()
        db = duckdb.connect()
        for setting in duckdb_ledger.SETTINGS:
            db.execute(setting)
        for table in self.context.tables():
            if table in statement.text:
                db.register(table, self.context.execute(f'SELECT * FROM "{table}"').collect().to_arrow())
        return pl.from_arrow(db.sql(duckdb_ledger.dialect(statement.bound(values))).to_arrow_table())

    def create(self, statement, values):
        self.context.register(statement.output, self.rows(statement, values).lazy())

    def query(self, statement, values):
        return self.rows(statement, values).rows()

    def put_names(self, rows, ids):
        columns = list(zip(*rows)) if rows else [()] * 5
        frame = pl.LazyFrame({c: v for c, v in zip("kind a b c d".split(), columns)} | {"id": ids},
                             schema={c: pl.String for c in "kind a b c d".split()} | {"id": pl.Int64})
        self.context.register("name", frame)

    def write(self, statement, values, name):
        self.rows(statement, values).write_parquet(self.out / name, compression="zstd", compression_level=3)

    def keep(self, table, name):
        frame = self.context.execute(f'SELECT * FROM "{table}"').collect()
        frame.write_parquet(self.out / name, compression="zstd", compression_level=3)

    def reread(self, table, files):
        self.context.register(table, pl.scan_parquet(files))


if __name__ == "__main__":
    ledger.main(Polars)
