"""What the node collector costs on a simulated node of 8 GPUs and 64 real processes, beside a public tool.

    tests/bench/collector.py [SECONDS]        600 by default; the program, the simulated driver and the null loop are built

Prints CPU as a part of one core and resident memory: of the collector, of a null loop that makes the same calls (the
simulator's own cost, taken off), and of nvitop watching the same node every 5 s, where it is installed in the
interpreter that runs this.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

POLL_S = 5
TICKS = os.sysconf("SC_CLK_TCK")
WATCH = """
import time
from nvitop import Device
while True:
    for device in Device.all():
        device.memory_info(), device.utilization_rates(), device.power_usage(), device.temperature()
        for process in device.processes().values():
            process.username(), process.gpu_memory(), process.gpu_sm_utilization()
    time.sleep(5)
"""


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) / 1024


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    target = os.path.join(os.environ["CARGO_TARGET_DIR"], "release")
    with tempfile.TemporaryDirectory() as place:
        sleepers = [subprocess.Popen(["setsid", "sleep", "86400"]) for _ in range(64)]
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../nvml-sim/scenarios/node8.toml")) as f:
            scenario = f.read()
        for at, sleeper in enumerate(sleepers):
            scenario = scenario.replace(f"pid = {60000 + at} ", f"pid = {sleeper.pid} ")
        path = os.path.join(place, "scenario.toml")
        with open(path, "w") as f:
            f.write(scenario)
        library = os.path.join(place, "libnvidia-ml.so.1")
        os.symlink(os.path.join(target, "deps/libgpuledger_nvml_sim.so"), library)
        os.makedirs(os.path.join(place, "lake/inbox"))
        config = os.path.join(place, "node.toml")
        with open(config, "w") as f:
            f.write(
                f'cluster = "bench"\nnode = "node8"\nscheduler = "none"\nlake = "{place}/lake"\nspool = "{place}/spool"\n'
                f'nvml_path = "{library}"\npoll_s = {POLL_S}\naccounting = "read"\nmetrics_listen = "127.0.0.1:19841"\n'
            )
        env = dict(os.environ, NVML_SIM_SCENARIO=path, LD_LIBRARY_PATH=place)
        started = {
            "collector": subprocess.Popen([os.path.join(target, "gpuledger-collector"), "node", "--config", config], env=env),
            "null loop": subprocess.Popen(
                [os.path.join(target, "examples/null_loop"), library, str(seconds + 600), str(POLL_S)], env=env
            ),
        }
        try:
            import nvitop  # noqa: F401

            started["nvitop"] = subprocess.Popen([sys.executable, "-c", WATCH], env=env)
        except ImportError:
            print("nvitop is not installed here: not compared", file=sys.stderr)
        time.sleep(15)
        # starting is not watching
        before = {name: cpu_s(p.pid) for name, p in started.items()}
        time.sleep(seconds)
        print(f"{seconds} s, 8 GPUs, {len(sleepers)} processes, a poll every {POLL_S} s")
        for name, process in started.items():
            if process.poll() is not None:
                print(f"{name}: ended with {process.returncode}")
                continue
            part = 100 * (cpu_s(process.pid) - before[name]) / seconds
            print(f"{name:<10} {part:7.3f} % of a core  {rss_mib(process.pid):7.1f} MiB at most")
        for process in list(started.values()) + sleepers:
            process.send_signal(signal.SIGKILL)
            process.wait()
        segments = [name for _, _, names in os.walk(os.path.join(place, "lake/inbox")) for name in names]
        print(f"segments delivered: {len(segments)}")


if __name__ == "__main__":
    main()
