#!/usr/bin/env python3
"""Alert rules, runbook and Grafana dashboards against a real promtool and a real Prometheus. Needs Python alone.

  check.py rules                       rules are right, fire as rules.test.yml says, and have a runbook entry each;
                                       every metric that a rule or panel names is one that our sources register
  check.py panels URL [TOKEN_FILE]     starts a Prometheus that scrapes the server at URL (and the recorded pages of collectors), and
                                       asks it every query of every panel: each must be answered, with something in it
  check.py metrics URL [TOKEN_FILE]    the page of the server as promtool checks it
"""

import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RULES = ROOT / "deploy/prometheus/gpuledger.rules.yml"
DASHBOARDS = sorted((ROOT / "dashboards/grafana").glob("*.json"))
# where metrics are registered, under which prefix
SOURCES = [
    ("gpuledger", ROOT / "api/src/metrics.rs"),
    ("gpuledger_collector", ROOT / "collector/src/node/metrics.rs"),
    ("gpuledger_cluster", ROOT / "collector/src/cluster/metrics.rs"),
]
# queries that may be empty on a healthy site: nothing failed, nothing was dropped, nobody waits
MAY_BE_EMPTY = re.compile(r"ticks_dropped|outbox|requests_total\{status|waste_minor|decision_latency|alerts_standing")
PATIENCE_S = 90


def fail(text):
    print(f"check.py: {text}", file=sys.stderr)
    sys.exit(1)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def registered():
    names = set()
    for prefix, path in SOURCES:
        text = path.read_text()
        for call in re.finditer(r'\b(?:register|gauges?|counters)\(\s*"(\w+)"', text):
            names |= {f"{prefix}_{call[1]}{end}" for end in ("", "_total", "_bucket", "_sum", "_count")}
        # names in lists of (index, name, help)
        names |= {f"{prefix}_{name}" for name in re.findall(r'\(\d, "(\w+)", "', text)}
    return names


def panels():
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield path.name, panel["title"], target["expr"]


def check_rules():
    run("promtool", "check", "rules", RULES)
    run("promtool", "test", "rules", HERE / "rules.test.yml")
    text = RULES.read_text()
    alerts = re.findall(r"- alert: (\w+)", text)
    runbook = (ROOT / "docs/runbook.md").read_text()
    tested = (HERE / "rules.test.yml").read_text()
    for alert in alerts:
        if f"### {alert}\n" not in runbook:
            fail(f"docs/runbook.md has no entry {alert}")
        if f"runbook: docs/runbook.md#{alert.lower()}\n" not in text:
            fail(f"{alert} does not name its entry of the runbook")
        if f"name: {alert}\n" not in tested or f"name: {alert} stays quiet\n" not in tested:
            fail(f"rules.test.yml does not say when {alert} fires and when not")
    known = registered()
    named = {(RULES.name, m) for m in re.findall(r"\b(gpuledger_\w+)", re.sub(r"#.*", "", text))}
    for dashboard, _, expr in panels():
        named |= {(dashboard, m) for m in re.findall(r"\b(gpuledger_\w+)", expr)}
    wrong = sorted(f"{where}: {metric}" for where, metric in named if metric not in known)
    if wrong:
        fail("metrics that nothing registers:\n" + "\n".join(wrong))
    print(f"{len(alerts)} alerts fire as they are tested, each with its entry; {len(named)} uses of metrics are of known ones")


def page(url, token_file):
    request = urllib.request.Request(f"{url}/metrics")
    if token_file:
        request.add_header("Authorization", f"Bearer {pathlib.Path(token_file).read_text().strip()}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def check_metrics(url, token_file):
    text = page(url, token_file)
    if not text.endswith("# EOF\n"):
        fail("the page does not end as OpenMetrics does")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    # it also has opinions on names; what cannot be parsed is an error
    if "error while linting" in done.stderr or "text format parsing error" in done.stderr:
        fail(done.stderr)
    print(f"{len([line for line in text.splitlines() if not line.startswith('#')])} series")


class Recorded(http.server.BaseHTTPRequestHandler):
    """Pages of collectors as they were recorded, with counters that move."""

    seen = 0

    def do_GET(self):
        Recorded.seen += 1
        name = "cluster.prom" if self.path.startswith("/cluster") else "collector.prom"
        body = (HERE / name).read_text().replace("COUNT", str(Recorded.seen * 10)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def ask(port, path, **parameters):
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        return json.load(e)


def free_port():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorded) as server:
        return server.server_address[1]


def check_panels(url, token_file):
    recorded = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorded)
    threading.Thread(target=recorded.serve_forever, daemon=True).start()
    at = f"127.0.0.1:{recorded.server_address[1]}"
    parts = urllib.parse.urlsplit(url)
    token = f"    authorization:\n      credentials_file: {pathlib.Path(token_file).resolve()}\n" if token_file else ""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuledger-prometheus-"))
    (folder / "prometheus.yml").write_text(
        "global:\n  scrape_interval: 1s\n"
        f"rule_files: ['{RULES}']\n"
        "scrape_configs:\n"
        f"  - job_name: gpuledger\n    scheme: {parts.scheme}\n{token}    static_configs: [{{targets: ['{parts.netloc}']}}]\n"
        f"  - job_name: gpuledger-collector\n    static_configs: [{{targets: ['{at}']}}]\n"
        f"  - job_name: gpuledger-cluster\n    metrics_path: /cluster\n    static_configs: [{{targets: ['{at}']}}]\n"
    )
    port = free_port()
    prometheus = subprocess.Popen(
        ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
         f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
    )
    try:
        wait_for_scrapes(port)
        answer_all(port)
    finally:
        prometheus.terminate()
        prometheus.wait()
        recorded.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_scrapes(port):
    end = time.monotonic() + PATIENCE_S
    said = "it did not start"
    while time.monotonic() < end:
        time.sleep(1)
        # while it starts it does not listen, and then answers 503 in plain text
        try:
            targets = ask(port, "targets")["data"]["activeTargets"]
        except (OSError, ValueError):
            continue
        said = "; ".join(f"{t['labels']['job']}: {t['health']} {t['lastError']}" for t in targets)
        # rates need two scrapes, and the server's figures their first round
        many = ask(port, "query", query="count_over_time(up[5m])")["data"]["result"]
        figures = ask(port, "query", query="gpuledger_fleet_window_ms")["data"]["result"]
        if figures and len(many) == 3 and all(t["health"] == "up" for t in targets) and all(int(m["value"][1]) > 15 for m in many):
            return
    fail(f"Prometheus did not scrape everything: {said}")


def answer_all(port):
    asked, empty = 0, []
    for dashboard, title, expr in panels():
        answer = ask(port, "query", query=expr)
        if answer["status"] != "success":
            fail(f"{dashboard}: {title}: {expr}: {answer.get('error')}")
        asked += 1
        result = answer["data"]["result"]
        if not result and not MAY_BE_EMPTY.search(expr):
            empty.append(f"{dashboard}: {title}: {expr}")
        if any(r["value"][1] == "NaN" for r in result) and not MAY_BE_EMPTY.search(expr):
            print(f"not a number: {dashboard}: {title}")
    if empty:
        fail("queries without an answer:\n" + "\n".join(empty))
    groups = ask(port, "rules")["data"]["groups"]
    broken = [f"{r['name']}: {r.get('lastError')}" for g in groups for r in g["rules"] if r.get("health") == "err"]
    if broken:
        fail("rules that cannot be evaluated:\n" + "\n".join(broken))
    print(f"{asked} queries of {len(DASHBOARDS)} dashboards have answers; {sum(len(g['rules']) for g in groups)} rules are evaluated")


def main(arguments):
    match arguments:
        case ["rules"]:
            check_rules()
        case ["metrics", url, *token]:
            check_metrics(url.rstrip("/"), token[0] if token else None)
        case ["panels", url, *token]:
            check_panels(url.rstrip("/"), token[0] if token else None)
        case _:
            fail(__doc__)


main(sys.argv[1:])
