"""A load that computes for a known part of the time, on one GPU.

python3 load.py --duty-percent 40 --seconds 120 --out load.json

In each period the GPU multiplies matrices for `duty` of it and rests for the remainder; the program waits for the GPU, so
that the part is kept by the clock and not by guess. What it did is written as JSON: the duty that was reached, the
GPU's UUID and the process id.
"""

import argparse
import json
import os
import sys
import time

PERIOD_S = 0.5


def arguments():
    parser = argparse.ArgumentParser(description="a load of known duty on one GPU")
    parser.add_argument("--duty-percent", type=int, default=40, help="part of the time that computes, 1 to 100")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--matrix", type=int, default=4096, help="rows of the matrices")
    parser.add_argument("--out", help="file for what was done")
    return parser.parse_args()


def uuid_of(torch):
    """UUID of the GPU as the driver writes it; none where this PyTorch does not tell."""
    uuid = getattr(torch.cuda.get_device_properties(0), "uuid", None)
    return None if uuid is None else "GPU-" + str(uuid).removeprefix("GPU-")


def main():
    args = arguments()
    try:
        import torch
    except ImportError:
        print("load: PyTorch is not installed", file=sys.stderr)
        return 77
    if not torch.cuda.is_available():
        print("load: PyTorch sees no GPU", file=sys.stderr)
        return 77

    left = torch.randn(args.matrix, args.matrix, device="cuda", dtype=torch.float16)
    right = torch.randn(args.matrix, args.matrix, device="cuda", dtype=torch.float16)
    out = torch.empty_like(left)
    for _ in range(10):  # clocks and caches settle before it counts
        torch.matmul(left, right, out=out)
    torch.cuda.synchronize()

    begun = time.monotonic()
    began_ms = time.time_ns() // 1_000_000
    busy_s = 0.0
    while (now := time.monotonic()) - begun < args.seconds:
        until = now + PERIOD_S * args.duty_percent / 100
        while time.monotonic() < until:
            torch.matmul(left, right, out=out)
            torch.cuda.synchronize()
        worked = time.monotonic()
        busy_s += worked - now
        time.sleep(max(0.0, now + PERIOD_S - worked))
    took = time.monotonic() - begun

    done = {
        "pid": os.getpid(),
        "uuid": uuid_of(torch),
        "model": torch.cuda.get_device_name(0),
        "began_ms": began_ms,
        "took_ms": round(took * 1000),
        "busy_ms": round(busy_s * 1000),
        "duty_ppm": round(busy_s / took * 1_000_000),
        "mem_peak_bytes": torch.cuda.max_memory_reserved(0),
    }
    text = json.dumps(done)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
