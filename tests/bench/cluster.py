#!/usr/bin/env python3
"""What the cluster collector costs at 5 000 running and 20 000 waiting jobs on 1 250 nodes.

    tests/bench/cluster.py [LOOKS]        default 5; needs a release build of the workspace

Slurm's commands are files of text that `cat` prints; the time that `cat` takes is not the collector's and is not counted.
Each look one job in a hundred is another one, so that looks have something to write.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COLLECTOR = TARGET / "release" / "gpuledger-collector"
RUNNING, WAITING, NODES, INTERVAL_S = 5_000, 20_000, 1_250, 10
START = 1_790_000_000

JOB = """JobId={id} JobName=train-{id}
   UserId=user{user}({uid}) GroupId=g(100) MCS_label=N/A
   Priority={id} Nice=0 Account=acc{account} QOS=normal
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:10:00 TimeLimit=1-00:00:00 TimeMin=N/A
   SubmitTime={submit} EligibleTime={submit}
   StartTime={start} EndTime={end} Deadline=N/A
   Partition=gpu AllocNode:Sid=login:1
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList={node}
   NumNodes=1 NumCPUs=12 NumTasks=1 CPUs/Task=12 ReqB:S:C:T=0:0:*:*
   ReqTRES=cpu=12,mem=120G,node=1,billing=12,gres/gpu=1
   AllocTRES={tres}
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
{gres}   MinCPUsNode=1 MinMemoryNode=120G MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command=/scratch/u/run.sh
   WorkDir=/scratch/u
   TresPerNode=gres/gpu:1

"""
NODE = """NodeName=n{n} Arch=x86_64 CoresPerSocket=32
   CPUAlloc=48 CPUEfctv=64 CPUTot=64 CPULoad=10.0
   AvailableFeatures=(null)
   ActiveFeatures=(null)
   Gres=gpu:h100:4
   NodeAddr=n{n} NodeHostName=n{n} Version=22.05.8
   OS=Linux
   RealMemory=1024000 AllocMem=480000 FreeMem=1000 Sockets=2 Boards=1
   State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=gpu
   BootTime=1789000000 SlurmdStartTime=1789000100
   LastBusyTime=1789900000
   CfgTRES=cpu=64,mem=1024000M,billing=64,gres/gpu=4
   AllocTRES=cpu=48,mem=480G,gres/gpu=4

"""


def jobs(turn):
    """What a look shows: in each turn one running job in a hundred is a new one."""
    for k in range(RUNNING + WAITING):
        runs = k < RUNNING
        id = 1_000_000 + k + (RUNNING + WAITING) * (turn if runs and k % 100 == turn % 100 else 0)
        submit, start = START - 7_200 - k, START - 3_600 + (turn if k % 100 == turn % 100 else 0)
        yield {
            "id": id, "user": k % 200, "uid": 2_000 + k % 200, "account": k % 20, "submit": submit,
            "state": "RUNNING" if runs else "PENDING", "reason": "None" if runs else "Resources",
            "start": start if runs else "Unknown", "end": start + 86_400 if runs else "Unknown",
            "node": f"n{k // 4}" if runs else "(null)",
            "tres": "cpu=12,mem=120G,node=1,billing=12,gres/gpu=1,gres/gpu:h100=1" if runs else "(null)",
            "gres": f"   JOB_GRES=gpu:h100:1\n     Nodes=n{k // 4} CPU_IDs=0-11 Mem=122880 GRES=gpu:h100:1(IDX:{k % 4})\n"
            if runs else "",
        }


def write(folder, turn):
    shown = list(jobs(turn))
    lines = [f"{j['id']} {j['state']} {j['uid']} {j['submit']} {j['start'] if j['start'] != 'Unknown' else 'N/A'} "
             f"{j['tres'] if j['tres'] != '(null)' else 'cpu=12,mem=120G,node=1,billing=12,gres/gpu=1'}" for j in shown]
    for name, text in [("jobs", "".join(JOB.format(**j) for j in shown)), ("squeue.txt", "\n".join(lines) + "\n")]:
        (folder / (name + ".new")).write_text(text)
        os.replace(folder / (name + ".new"), folder / name)


def main():
    looks = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="gpuledger-cluster-") as at:
        folder = Path(at)
        (folder / "data" / "inbox").mkdir(parents=True)
        (folder / "nodes").write_text("".join(NODE.format(n=n) for n in range(NODES)))
        write(folder, 0)
        scripts = {
            "scontrol": f'case "$*" in *node*) cat {folder}/nodes;; *) cat {folder}/jobs;; esac',
            "squeue": f"cat {folder}/squeue.txt",
        }
        for name, line in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\necho {name} >> {folder}/calls\n{line}\n")
            (folder / name).chmod(0o755)
        config = folder / "cluster.toml"
        config.write_text(
            f'cluster = "big"\nlake = "{folder}/data"\nspool = "{folder}/spool"\ninterval_s = {INTERVAL_S}\nseal_looks = 1\n'
            f'metrics_listen = ""\n[slurm]\nscontrol = "{folder}/scontrol"\nsqueue = "{folder}/squeue"\nsacct = ""\n'
            'gres_index = "minor"\n')
        child = subprocess.Popen([COLLECTOR, "cluster", "slurm", "--config", config], stdout=subprocess.DEVNULL)
        for turn in range(1, looks + 1):
            time.sleep(INTERVAL_S)
            write(folder, turn)
        status = Path(f"/proc/{child.pid}/status").read_text()
        stat = Path(f"/proc/{child.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        own_s = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
        child.send_signal(signal.SIGTERM)
        child.wait(30)
        calls = (folder / "calls").read_text().split()
        sizes = [f.stat().st_size for f in (folder / "data" / "inbox").glob("*.parquet")]
        program = COLLECTOR.with_name("gpuledger")
        subprocess.run([program, "ingest", "--data", folder / "data"], check=True, capture_output=True)
        query = "SELECT count(*) FILTER (WHERE ok) AS ok, count(*) AS looks, (SELECT count(*) FROM job) AS jobs FROM reading"
        seen = subprocess.run([program, "sql", "--data", folder / "data", "--format", "csv", query], check=True,
                              capture_output=True, text=True).stdout.splitlines()
        print(json.dumps({
            "in the lake": dict(zip(seen[0].split(","), seen[1].split(","))),
            "looks": calls.count("squeue"), "calls_by_command": {c: calls.count(c) for c in sorted(set(calls))},
            "cpu_s_per_look": round(own_s / max(calls.count("squeue"), 1), 3), "peak_mib": int(peak) // 1024,
            "segments": len(sizes), "segment_bytes": sum(sizes),
            "state_bytes": sum(f.stat().st_size for f in (folder / "spool").rglob("*") if f.is_file()),
        }, indent=2))


main()
