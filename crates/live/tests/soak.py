#!/usr/bin/env python3
"""Connections that open and die in every state, while the memory of the server is watched.

    destage serve --socket s --set blocks_per_plane=32 &
    crates/live/tests/soak.py --socket s --pid $! --minutes 20

Four clients at a time connect, say as much as their number decides, and go without a word: in the
negotiation, within a request, within the data of a WRITE, with replies on their way, or rightly.
Exit code 1: the resident memory after the first tenth of the time and at its end differ by more
than --growth MiB, threads or files were left behind, or the server does not serve any more.
"""
import argparse
import os
import random
import socket
import struct
import sys
import threading
import time

READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
SPACE = 64 << 20


def take(link, count):
    got = b""
    while len(got) < count:
        piece = link.recv(count - len(got))
        if not piece:
            raise ConnectionError("closed")
        got += piece
    return got


def request(command, offset=0, length=0):
    return struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length)


def client(path, rng):
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(30)
        link.connect(path)
        end = rng.randrange(8)
        if end == 0:
            return
        take(link, 18)
        if end == 1:
            return
        link.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
        if end == 2:
            return
        take(link, 10)
        for _ in range(rng.randrange(8)):
            offset, length = rng.randrange(SPACE >> 12) << 12, 4096 << rng.randrange(6)
            offset = min(offset, SPACE - length)
            link.sendall(request(WRITE, offset, length) + bytes(length))
            take(link, 16)
        if end == 3:
            link.sendall(request(READ, 0, 4096)[:13])
        elif end == 4:
            link.sendall(request(WRITE, 0, 1 << 20) + bytes(1000))
        elif end == 5:
            link.sendall(b"".join(request(READ, n << 20, 1 << 20) for n in range(16)))
        elif end == 6:
            link.sendall(request(FLUSH) + request(READ, 0, 65536))
        else:
            link.sendall(request(DISCONNECT))


def state(pid):
    """Resident KiB, threads and open files."""
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status"))
    rss, threads = (int(fields[name].split()[0]) for name in ("VmRSS", "Threads"))
    return rss, threads, len(os.listdir(f"/proc/{pid}/fd"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--pid", type=int, required=True, help="of the server")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--growth", type=float, default=8, help="MiB that are no leak [8]")
    args = parser.parse_args()
    end = time.monotonic() + 60 * args.minutes
    counts, faults = [0] * 4, []

    def work(number):
        rng = random.Random(number)
        while time.monotonic() < end and not faults:
            try:
                client(args.socket, rng)
            except OSError as error:
                faults.append(f"client {number}: {error}")
            counts[number] += 1
            time.sleep(0.01)

    # Every page that clients write is there before memory is looked at.
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(args.socket)
        take(link, 18)
        link.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
        take(link, 10)
        for offset in range(0, SPACE, 1 << 20):
            link.sendall(request(WRITE, offset, 1 << 20) + bytes([1]) * (1 << 20))
            take(link, 16)
    time.sleep(1)
    idle = state(args.pid)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(6 * args.minutes)
    warm = state(args.pid)
    print(f"after a tenth: {warm[0]} KiB, {warm[1]} threads, {warm[2]} files", flush=True)
    for thread in threads:
        thread.join()
    time.sleep(2)
    last = state(args.pid)
    print(f"{sum(counts)} connections; at the end: {last[0]} KiB, {last[1]} threads, {last[2]} files")
    if last[0] - warm[0] > 1024 * args.growth:
        faults.append("memory grew")
    if last[1] > idle[1] or last[2] > idle[2]:
        faults.append(f"left behind; idle it had {idle[1]} threads and {idle[2]} files")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
