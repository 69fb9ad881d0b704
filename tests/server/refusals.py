#!/usr/bin/env python3
"""What flatlined does where it cannot have what it asks for: descriptors, connections, a port, memory. Whoever connects
waits until there is room and is then served, and the server rests until then; what keeps it from beginning it says in one
line, with status 2.

    refusals.py --server PROGRAM --shards N
"""
import argparse
import os
import resource
import subprocess
import sys
import time

from flatlined import Faults, Flatlined

FAULTS = Faults()


def is_served(client, seconds):
    client.settimeout(seconds)
    try:
        return client.recv(100) == b"USING default\r\n"
    except TimeoutError:
        return False


def some_wait(what, server, count):
    """Of so many clients some are served at once, the others once those have left."""
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        client.sendall(b"list-tube-used\r\n")
    time.sleep(1)
    before, begun = server.seconds_used(), time.monotonic()
    waiting = [client for client in clients if not is_served(client, 0.05)]
    FAULTS.expect(0 < len(waiting) < count, "%s: of %d clients %d wait" % (what, count, len(waiting)))
    time.sleep(2)
    used, passed = server.seconds_used() - before, time.monotonic() - begun
    FAULTS.expect(used < passed / 2, "%s: it used %.1f of %.1f seconds while it had nothing to do" % (what, used, passed))
    served = [client for client in clients if client not in waiting]
    while waiting:
        for client in served:
            client.close()
        served = [client for client in waiting if is_served(client, 5 if not served else 0.5)]
        if not served and not any(is_served(client, 5) for client in waiting[:1]):
            break
        waiting = [client for client in waiting if client not in served]
    FAULTS.expect(not waiting, "%s: %d clients were never served" % (what, len(waiting)))
    for client in served:
        client.close()
    last = server.connect()
    last.sendall(b"list-tube-used\r\n")
    FAULTS.expect(is_served(last, 10), "%s: who came last was not served" % what)
    last.close()
    print("%s: tried" % what)


def waits_for_descriptors(server):
    """The first client of all has to wait, and is served once there are descriptors again."""
    usual = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    used = set(map(int, os.listdir("/proc/%d/fd" % server.process.pid)))
    few = min(set(range(len(used) + 1)) - used)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (few, usual[1]))
    client = server.connect()
    client.sendall(b"list-tube-used\r\n")
    FAULTS.expect(not is_served(client, 1), "it was served without a descriptor")
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, usual)
    FAULTS.expect(is_served(client, 10), "who came while there was no descriptor was never served")
    client.close()
    print("descriptors that come back: tried")


def cannot_begin(options, what, arguments, part):
    ran = subprocess.run([options.server, "--shards", str(options.shards), *arguments], stdin=subprocess.DEVNULL, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20, check=False)
    FAULTS.expect(ran.returncode == 2 and ran.stdout == "" and len(ran.stderr.splitlines()) == 1 and part in ran.stderr,
           "%s: status %d, %r" % (what, ran.returncode, ran.stdout + ran.stderr))
    print("%s: %s" % (what, ran.stderr.strip()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--shards", type=int, required=True)
    options = parser.parse_args()
    shards = ("--shards", str(options.shards))
    few = 20 + 4 * options.shards
    with Flatlined(options.server, *shards, limited=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))) as server:
        some_wait("no descriptor left", server, 60)
    with Flatlined(options.server, *shards) as server:
        waits_for_descriptors(server)
    with Flatlined(options.server, *shards, "--connections", "3") as server:
        some_wait("no connection left", server, 3 * options.shards + 6)
        cannot_begin(options, "a port that is taken", ["-p", str(server.port)], "port %d" % server.port)
    cannot_begin(options, "no such address", ["-p", "0", "-l", "256.1.1.1"], "256.1.1.1")
    cannot_begin(options, "an address of another machine", ["-p", "0", "-l", "192.0.2.1"], "192.0.2.1")
    cannot_begin(options, "memory for no job", ["-p", "0", "--memory", "1000"], "give more")
    cannot_begin(options, "no such option", ["--jobs", "7"], "flatlined --help")
    return FAULTS.status()


if __name__ == "__main__":
    sys.exit(main())
