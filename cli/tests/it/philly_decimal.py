"""What the months of Microsoft's Philly trace cost, by Python's decimal: nothing of gpuledger is in it.

philly_decimal.py JOBS.csv.gz PRICES MONTHS, where PRICES is `since=price,...` and MONTHS `name=from=to,...`, instants in seconds of UTC.
Prints `month,team,exact` (seconds x millionths of the currency) for every team, and `month,,total` (rounded half up to cents).
"""

import csv
import gzip
import sys
from collections import defaultdict
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal, getcontext

getcontext().prec = 60
jobs, prices, months = sys.argv[1:]
prices = [(int(since), Decimal(price)) for since, price in (p.split("=") for p in prices.split(","))]
months = [(name, int(a), int(b)) for name, a, b in (m.split("=") for m in months.split(","))]
seconds = defaultdict(Decimal)
with gzip.open(jobs, "rt", encoding="utf-8", newline="") as file:
    rows = csv.reader(file)
    next(rows)
    for row in filter(None, rows):
        start = int(datetime.strptime(row[0], "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc).timestamp())
        end = start + int(Decimal(row[1]))
        for name, first, last in months:
            for i, (since, price) in enumerate(prices):
                until = prices[i + 1][0] if i + 1 < len(prices) else last
                inside = min(end, last, until) - max(start, first, since)
                if inside > 0:
                    seconds[name, row[4]] += inside * Decimal(row[2]) * price
for name, _, _ in months:
    total = Decimal(0)
    for (month, team), money in sorted(seconds.items()):
        if month == name:
            print(f"{month},{team},{int(money * 1_000_000)}")
            total += money
    print(f"{name},,{(total / 3600).quantize(Decimal('0.01'), ROUND_HALF_UP)}")
