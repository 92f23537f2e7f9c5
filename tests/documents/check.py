#!/usr/bin/env python3
"""Reads the documents of a made-up bill with other programs and compares what they say, to the minor unit.

What a Rust test cannot ask: whether LibreOffice computes the values that the spreadsheet carries and reads the CSV as it is
meant, whether a PDF shows its text, whether Parquet and FOCUS are what other readers expect.

    tests/documents/run

Exit status 0: every check passed. Pictures of the statements lie in OUT/pictures: look at them.
"""

import csv
import importlib.util
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
from decimal import Decimal
from pathlib import Path

import duckdb
import openpyxl
import pyarrow.parquet as parquet

CRITERIA = ",".join(
    name + "_SUPPORTED"
    for name in [
        "USAGE_MEASUREMENT", "UNIT_PRICING", "PUBLIC_PRICE_LIST", "NEGOTIATED_PRICING", "SUB_ACCOUNT", "TAGGING", "REGION",
        "CAPACITY_RESERVATION", "BILLING_BASED_ON_PROVISIONED_RESOURCES", "RESOURCE_TYPE_ASSIGNMENT", "ACCOUNT_NAMING",
        "MULTIPLE_SUB_ACCOUNT_TYPES", "MULTIPLE_BILLING_ACCOUNT_TYPES", "MULTIPLE_PRICING_CATEGORIES",
    ]
)
# Pairs of rules that contradict each other, because the validator's rule file lost their conditions, and composites of them.
IMPOSSIBLE = {
    "InvoiceId-C-004-C",
    "CapacityReservationStatus-C-000-C", "CapacityReservationStatus-C-002-C", "CapacityReservationStatus-C-003-C",
    "CapacityReservationStatus-C-004-C",
}
# Rules of string format of the columns that have names of people, and composites of them.
ASCII_ONLY = {
    "BillingAccountId-C-000-M", "BillingAccountId-C-003-M", "BillingAccountName-C-000-M", "BillingAccountName-C-002-M",
    "InvoiceId-C-000-O", "InvoiceId-C-002-M", "SubAccountId-C-000-C", "SubAccountId-C-002-M", "SubAccountName-C-000-C",
    "SubAccountName-C-002-M",
}
FORMULAS = tuple("=+-@\t\r\n")
failures = []


def check(name, passed, detail=""):
    print(f"{'ok  ' if passed else 'FAIL'} {name} {detail}")
    if not passed:
        failures.append(name)


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options)


def bill(out, suffix):
    return json.loads((out / f"bill-{suffix}.json").read_text("utf-8"))


def teams_total(document):
    return sum(Decimal(s["amount"]) for s in document["statements"])


def convert(path, kind, folder):
    """The file as LibreOffice writes it after computing it anew."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = folder / "profile"
    done = run("soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", kind, "--outdir", str(folder),
               str(path), timeout=300)
    result = folder / (path.stem + "." + kind.split(":")[0])
    assert result.exists(), done.stdout + done.stderr
    return result


def spreadsheet(out, work, suffix, name=None):
    """Values that the file carries against those that LibreOffice computes."""
    path = out / (name or f"bill-{suffix}.xlsx")
    again = openpyxl.load_workbook(convert(path, "xlsx", work), data_only=True)
    cached = openpyxl.load_workbook(path, data_only=True)
    formulas = openpyxl.load_workbook(path)
    check(f"{path.name}: sheets", again.sheetnames == cached.sheetnames, ", ".join(cached.sheetnames))
    wrong, count, errors = [], 0, 0
    for sheet in formulas.sheetnames:
        for row in formulas[sheet].iter_rows():
            for cell in row:
                if cell.data_type != "f":
                    continue
                count += 1
                ours, theirs = cached[sheet][cell.coordinate].value, again[sheet][cell.coordinate].value
                if theirs is None or ours is None or abs(Decimal(str(ours)) - Decimal(str(theirs))) > Decimal("0.00001"):
                    wrong.append((sheet, cell.coordinate, cell.value, ours, theirs))
        for row in again[sheet].iter_rows():
            errors += sum(1 for c in row if isinstance(c.value, str) and c.value.startswith(("#", "Err:")))
    check(f"{path.name}: {count} formulas have the values that they carry", count >= 25 and not wrong, str(wrong[:3]))
    check(f"{path.name}: no cell is an error", errors == 0)
    if name:
        return
    document = bill(out, suffix)
    teams = cached[cached.sheetnames[1]]
    total = Decimal(str(teams.cell(teams.max_row, 10).value))
    check(f"{path.name}: total of teams", total == teams_total(document), str(total))
    names = {teams.cell(r, 1).value for r in range(2, teams.max_row)}
    check(f"{path.name}: names as they were typed", names == {s["team"] for s in document["statements"]})
    lines = cached[cached.sheetnames[3]]
    total = Decimal(str(lines.cell(lines.max_row, 22).value))
    everything = sum(Decimal(l["amount"]) for l in document["lines"])
    check(f"{path.name}: total of lines", total == everything, str(total))
    check(f"{path.name}: lines", lines.max_row - 2 == len(document["lines"]), str(lines.max_row - 2))
    check(f"{path.name}: panes are frozen", all(formulas[s].freeze_panes for s in formulas.sheetnames[1:]))
    difference = cached[cached.sheetnames[-1]]
    zero = [r[1].value for r in difference.iter_rows() if r[2].value in ("must be 0", "必须为 0")]
    check(f"{path.name}: conservation", zero == [0], str(zero))


def lines_csv(out, work, suffix):
    document = bill(out, suffix)
    for name in (f"lines-{suffix}.csv", f"lines-bom-{suffix}.csv"):
        with open(out / name, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        check(f"{name}: lines", len(rows) == len(document["lines"]))
        total = sum(Decimal(r["amount"]) for r in rows if r["platform"] == "false")
        check(f"{name}: total", total == teams_total(document), str(total))
        text = [r[c] for r in rows for c in ("team", "cost_center", "pool", "model", "task_type", "reason", "approver")]
        check(f"{name}: no text is a formula", not [t for t in text if t.startswith(FORMULAS)])
        teams = {r["team"][1:] if r["team"].startswith("'") else r["team"] for r in rows if r["platform"] == "false"}
        check(f"{name}: names", teams == {s["team"] for s in document["statements"]})
    # LibreOffice reads UTF-8 by the mark, and must find as many rows and no formula
    name = f"lines-bom-{suffix}.csv"
    sheet = openpyxl.load_workbook(convert(out / name, "xlsx:Calc MS Excel 2007 XML", work)).active
    formulas = [c.coordinate for row in sheet.iter_rows() for c in row if c.data_type == "f"]
    check(f"{name}: LibreOffice finds no formula", not formulas, str(formulas[:3]))
    check(f"{name}: LibreOffice finds every line", sheet.max_row == len(document["lines"]) + 1, str(sheet.max_row))


def posting(out, suffix):
    with open(out / f"posting-{suffix}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    debit = sum(Decimal(r["debit"] or 0) for r in rows)
    credit = sum(Decimal(r["credit"] or 0) for r in rows)
    check(f"posting-{suffix}.csv: balanced", debit == credit and debit > 0, f"{debit} {credit}")
    net = sum(Decimal(r["debit"] or 0) - Decimal(r["credit"] or 0) for r in rows if r["account"] == "62000")
    check(f"posting-{suffix}.csv: what teams pay", net == teams_total(bill(out, suffix)), str(net))


def parquet_files(out, suffix):
    document = bill(out, suffix)
    path = out / f"lines-{suffix}.parquet"
    table = parquet.read_table(path)
    amounts = zip(table["platform"].to_pylist(), table["amount"].to_pylist())
    total = sum((a for platform, a in amounts if not platform), Decimal(0))
    check(f"{path.name}: pyarrow", total == teams_total(document), str(total))
    check(f"{path.name}: exact is decimal", str(table.schema.field("exact").type) == "decimal128(38, 0)")
    check(f"{path.name}: no doubles", not [f.name for f in table.schema if "double" in str(f.type) or "float" in str(f.type)])
    duck = duckdb.sql(f"SELECT sum(amount) FROM '{path}' WHERE NOT platform").fetchone()[0]
    check(f"{path.name}: DuckDB", duck == teams_total(document), str(duck))
    path = out / f"focus-{suffix}.parquet"
    query = f"SELECT BillingAccountId, sum(BilledCost) FROM '{path}' GROUP BY 1"
    sums = dict(duckdb.sql(query).fetchall())
    expected = {s["team"]: Decimal(s["amount"]) for s in document["statements"]}
    expected["(platform)"] = sum(Decimal(p["amount"]) for p in document["platform"])
    check(f"{path.name}: statements by DuckDB", sums == expected)
    rows = duckdb.sql(f"SELECT count(*), count(DISTINCT x_ChargeId) FROM '{path}'").fetchone()
    check(f"{path.name}: rows are unique", rows[0] == rows[1] and rows[0] > 0, str(rows[0]))
    query = f"SELECT count(*) FROM '{path}' WHERE ContractedUnitPrice * CAST(PricingQuantity AS DECIMAL(20,12)) <> ContractedCost"
    check(f"{path.name}: price x quantity = cost in decimals", duckdb.sql(query).fetchone()[0] == 0)


def focus(out, work, name, may_fail):
    """focus-validator; `may_fail` says which rules may, and why."""
    # it looks for its list of currencies below the folder that it runs in
    package = Path(importlib.util.find_spec("focus_validator").origin).parent
    if not (work / "focus_validator").exists():
        (work / "focus_validator").symlink_to(package)
    report = work / f"{name}.xml"
    done = run("focus-validator", "--data-file", str(out / name), "--validate-version", "1.2", "--block-download",
               "--applicability-criteria", CRITERIA, "--output-type", "unittest", "--output-destination", str(report), cwd=work)
    if not report.exists():
        check(f"{name}: focus-validator", False, done.stdout[-2000:] + done.stderr[-2000:])
        return
    cases = xml.parse(report).getroot().iter("testcase")
    results = {"passed": [], "failed": [], "skipped": []}
    for case in cases:
        kinds = {child.tag for child in case}
        state = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        results[state].append(case.get("name"))
    unexpected = [rule for rule in results["failed"] if not may_fail(rule)]
    counts = ", ".join(f"{len(v)} {k}" for k, v in results.items())
    check(f"{name}: focus-validator, {counts}", not unexpected and len(results["passed"]) > 100, "\n".join(unexpected[:20]))


def statements(out, work, suffix):
    pictures = out / "pictures"
    pictures.mkdir(exist_ok=True)
    document = bill(out, suffix)
    for i, statement in enumerate(sorted(document["statements"], key=lambda s: s["team"].encode())):
        path = out / f"statement-{i}-{suffix}.pdf"
        text = run("pdftotext", "-layout", str(path), "-").stdout
        amount = f"{Decimal(statement['amount']):,}"
        check(f"{path.name}: amount {amount}", amount in text)
        name = statement["team"].replace("\n", "").replace("\ufe0f", "")
        shown = "".join(text.split())
        check(f"{path.name}: name", "".join(name.split())[:8] in shown, repr(name))
        check(f"{path.name}: hash", document["state"]["output_sha256"] in shown)
        fonts = run("pdffonts", str(path)).stdout
        embedded = [line.split()[-5] for line in fonts.splitlines()[2:]]
        check(f"{path.name}: {len(embedded)} fonts are embedded", embedded and set(embedded) == {"yes"})
        run("pdftoppm", "-png", "-r", "70", str(path), str(pictures / path.stem))
        pages = len(list(pictures.glob(path.stem + "-*.png")))
        check(f"{path.name}: {pages} pages", pages >= 2)


def main():
    out = Path(sys.argv[1]).resolve()
    work = out / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for suffix in ("en", "zh", "plain"):
        spreadsheet(out, work / suffix, suffix)
        lines_csv(out, work / suffix, suffix)
        posting(out, suffix)
        parquet_files(out, suffix)
        statements(out, work, suffix)
    spreadsheet(out, work / "quarter", "en", "bill-quarter.xlsx")
    # names in plain letters: nothing may fail but what no data set can meet
    for name in ("focus-plain.csv", "focus-plain.parquet"):
        focus(out, work, name, lambda rule: rule.split(" ")[0] in IMPOSSIBLE)
    # names in any letters: the validator takes strings of ASCII alone, where FOCUS 1.2 says that they are Unicode
    focus(out, work, "focus-en.parquet", lambda rule: rule.split(" ")[0] in IMPOSSIBLE | ASCII_ONLY)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
