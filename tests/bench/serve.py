"""A served demo under load; see `tests/bench/run serve`.

At the same time: 50 people who open a page, look at it for one to three seconds and open the next; `wrk` on the month by team;
and 1 000 nodes that bring a minute each, every minute, each with its own token. Prints what people waited, what `wrk` measured,
the server's memory and how many segments waited to be taken in. Everything shares the machine.
"""

import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

PAGES = ["/", "/chargeback", "/chargeback/statement?team=vision", "/waste", "/fleet", "/services", "/health", "/reclaim", "/job?run=alpha/41382"]
PEOPLE = int(os.environ.get("GPULEDGER_BENCH_PEOPLE", "50"))
NODES = int(os.environ.get("GPULEDGER_BENCH_NODES", "1000"))
CARRIERS = 4
LIMITS = "\n[server]\nrequests_per_second = 100000\n"


def rank(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else float("nan")


class Site:
    """A running server and who may ask it what."""

    def __init__(self, binary, data):
        with open(data / "input/gpuledger.toml", "a", encoding="utf-8") as config:
            config.write(LIMITS)
        told = ["--data", str(data), "--config", str(data / "input/gpuledger.toml")]
        made = subprocess.run([binary, "token", "create", "load", "--role", "admin", *told, "--format", "json"],
                              capture_output=True, text=True, check=True)
        self.admin = json.loads(made.stdout)["secret"]
        self.server = subprocess.Popen([binary, "serve", "--listen", "127.0.0.1:0", *told], stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"http://([^/]+)/", self.server.stdout.readline()).group(1)

    def ask(self, connection, method, path, token, body=None):
        connection.request(method, path, body=body, headers={"authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def connect(self):
        return http.client.HTTPConnection(self.address, timeout=120)

    def memory_mib(self):
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024


def person(site, seed, until, waited, wrong):
    chosen, connection = random.Random(seed), site.connect()
    while time.time() < until:
        path, began = chosen.choice(PAGES), time.time()
        try:
            status, body = site.ask(connection, "GET", path, site.admin)
        except (OSError, http.client.HTTPException) as e:
            wrong.append((path, repr(e)))
            connection = site.connect()
            continue
        waited.append((time.time() - began, b"http-equiv=\"refresh\"" in body))
        if status != 200:
            wrong.append((path, status))
        time.sleep(chosen.uniform(1, 3))


def carrier(site, folder, tokens, nodes, minute, wrong, sent):
    connection = site.connect()
    for node in nodes:
        # the file of processes before the file of cards that names it
        for segment in sorted((folder / str(minute) / node).iterdir(), key=lambda p: not p.name.startswith("process")):
            path = f"/api/v1/ingest/{segment.name}"
            try:
                status, body = site.ask(connection, "PUT", path, tokens[node], segment.read_bytes())
            except (OSError, http.client.HTTPException) as e:
                wrong.append((path, repr(e)))
                connection = site.connect()
                continue
            sent.append(segment.stat().st_size)
            if status != 200:
                wrong.append((segment.name, status, body[:200]))


def bring(site, folder, tokens, minutes, wrong, took, sent):
    names = sorted(tokens)
    for minute in range(minutes):
        began = time.time()
        parts = [threading.Thread(target=carrier, args=(site, folder, tokens, names[c::CARRIERS], minute, wrong, sent))
                 for c in range(CARRIERS)]
        for part in parts:
            part.start()
        for part in parts:
            part.join()
        took.append(time.time() - began)
        time.sleep(max(0, 60 - (time.time() - began)))


def loaded(site, folder, seconds):
    """Runs everything side by side; gives what was wrong."""
    connection, tokens = site.connect(), {}
    for node in sorted(p.name for p in (folder / "0").iterdir()):
        body = json.dumps({"name": node, "role": "node", "node": node, "days": 1})
        status, made = site.ask(connection, "POST", "/api/v1/tokens", site.admin, body)
        assert status == 201, made
        tokens[node] = json.loads(made)["secret"]
    print(f"{len(tokens)} nodes have tokens", flush=True)
    until, waited, wrong, took, sent, memory, waiting = time.time() + seconds, [], [], [], [], [], []
    threads = [threading.Thread(target=person, args=(site, n, until, waited, wrong)) for n in range(PEOPLE)]
    threads.append(threading.Thread(target=bring, args=(site, folder, tokens, seconds // 60, wrong, took, sent)))
    for thread in threads:
        thread.start()
    url = f"http://{site.address}/api/v1/charges?month=2026-03&by=team&tz=Europe/Berlin"
    wrk = subprocess.Popen(["wrk", "-t1", "-c4", f"-d{seconds}s", "--latency", "--timeout", "60s",
                            "-H", f"authorization: Bearer {site.admin}", url], stdout=subprocess.PIPE, text=True)
    while time.time() < until:
        memory.append(site.memory_mib())
        status, place = site.ask(connection, "GET", "/api/v1/place", site.admin)
        waiting.append(json.loads(place).get("waiting_segments") or 0)
        time.sleep(5)
    for thread in threads:
        thread.join()
    print(wrk.communicate()[0])
    all_ms = [w * 1000 for w, _ in waited]
    print(f"people: {len(waited)} pages, p50 {rank(all_ms, 50):.0f} ms, p99 {rank(all_ms, 99):.0f} ms, most {max(all_ms):.0f} ms; "
          f"{sum(part for _, part in waited)} still had something to compute")
    print(f"nodes: {len(sent)} segments, {sum(sent)} bytes; a minute of all was brought in {statistics.median(took):.1f} s "
          f"(most {max(took):.1f}); waiting to be taken in: {statistics.median(waiting):.0f} in the middle, {max(waiting)} at most")
    print(f"server: {memory[0]} MiB at first, {statistics.median(memory):.0f} in the middle, {max(memory)} at most")
    return wrong


def main(binary, tools, work, seconds):
    if seconds < 60:
        raise SystemExit("60 seconds or more")
    data, folder = work / "serve-demo", work / "serve-minutes"
    subprocess.run([binary, "demo", "--data", data], check=True, capture_output=True)
    subprocess.run([tools / "minutes", folder, str(NODES), str(seconds // 60)], check=True, capture_output=True)
    site = Site(binary, data)
    try:
        wrong = loaded(site, folder, seconds)
    finally:
        site.server.terminate()
        site.server.wait()
    print("wrong:", len(wrong), wrong[:5])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 600)
