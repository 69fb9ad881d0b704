#!/usr/bin/env python3
"""Many clients at once put, reserve, release, bury, kick and delete jobs of several tubes. Each job that was accepted is
deleted once, no two clients have one at the same time, and at the end none is left.

    together.py --server PROGRAM --shards N [--seconds 5] [--clients 24]
"""
import argparse
import random
import sys
import threading
import time

from flatlined import Faults, Flatlined

TUBES = ["default", "a", "b", "c", "d", "e", "f", "g"]


class Client:
    def __init__(self, server):
        self.socket = server.connect()
        self.file = self.socket.makefile("rb")

    def ask(self, text, body=None):
        self.socket.sendall(text.encode() + b"\r\n" + (body + b"\r\n" if body is not None else b""))
        words = self.file.readline().split()
        if not words:
            raise EOFError(text)
        if words[0] in (b"RESERVED", b"FOUND", b"OK"):
            return [*words, self.file.read(int(words[-1]) + 2)[:-2]]
        return words

    def close(self):
        self.file.close()
        self.socket.close()


class Account(Faults):
    """What became of each job."""

    def __init__(self):
        super().__init__()
        self.lock, self.live, self.held, self.done = threading.Lock(), set(), set(), 0

    def put(self, body):
        with self.lock:
            self.live.add(body)

    def reserved(self, body):
        with self.lock:
            self.expect(body in self.live, "%r was deleted or never put" % body)
            self.expect(body not in self.held, "%r is reserved by two" % body)
            self.held.add(body)

    def given_back(self, body):
        with self.lock:
            self.held.discard(body)

    def deleted(self, body):
        with self.lock:
            self.held.discard(body)
            self.live.discard(body)
            self.done += 1


def work(server, number, account, until, seed):
    chance = random.Random(seed + number)
    client = Client(server)
    watched = set(chance.sample(TUBES, chance.randrange(1, 6))) | {chance.choice(TUBES)}
    for tube in watched:
        client.ask("watch " + tube)
    if "default" not in watched:
        client.ask("ignore default")
    count = 0
    while time.monotonic() < until:
        if chance.random() < 0.5:
            client.ask("use " + chance.choice(TUBES))
            body = b"%d-%d-" % (number, count) + b"x" * chance.choice([0, 10, 300, 20000])
            count += 1
            account.put(body)
            if client.ask("put %d %d 100 %d" % (chance.randrange(3), chance.random() < 0.02, len(body)), body)[0] != b"INSERTED":
                account.deleted(body)
            continue
        words = client.ask("reserve-with-timeout %d" % (chance.random() < 0.3))
        if words[0] != b"RESERVED":
            continue
        job, body = words[1].decode(), words[3]
        account.reserved(body)
        kind = chance.choices(["delete", "release", "bury", "reconnect", "touch"], [6, 2, 1, 0.3, 1])[0]
        if kind == "touch":
            account.expect(client.ask("touch " + job) == [b"TOUCHED"], "touch %s" % job)
            kind = "delete"
        account.given_back(body)
        if kind == "delete":
            account.deleted(body)
            account.expect(client.ask("delete " + job) == [b"DELETED"], "delete %s" % job)
        elif kind == "release":
            client.ask("release %s 1 0" % job)
        elif kind == "bury":
            client.ask("bury %s 1" % job)
            client.ask("kick-job " + job)
        else:
            client.close()
            client = Client(server)
            for tube in watched:
                client.ask("watch " + tube)
    client.close()


def crowd(server, arguments, account, seed):
    until = time.monotonic() + arguments.seconds

    def run(number):
        try:
            work(server, number, account, until, seed)
        except Exception as why:  # the thread's, which would be lost
            account.expect(False, "client %d: %r" % (number, why))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(arguments.clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def left_alone(last, account):
    """What the last client finds, once all others have left: every job that they left, and then room for any other."""
    for tube in TUBES:
        last.ask("watch " + tube)
    time.sleep(1.2)  # of jobs that were delayed by a second
    while (words := last.ask("reserve-with-timeout 0"))[0] == b"RESERVED":
        account.reserved(words[3])
        account.deleted(words[3])
        account.expect(last.ask("delete " + words[1].decode()) == [b"DELETED"], "delete at the end")
    for number in range(1000):  # far more than there is memory for at once
        words = last.ask("put 0 0 100 30000", b"x" * 30000)
        if words[0] != b"INSERTED" or last.ask("reserve-with-timeout 0")[0] != b"RESERVED":
            account.expect(False, "job %d is not taken, though there is no other: %r" % (number, words))
            break
        last.ask("delete " + words[1].decode())
    for each in account.live:
        account.expect(False, "%r is lost" % each[:40])
    stats = last.ask("stats")[2].decode()
    for name in ("current-jobs-ready", "current-jobs-reserved", "current-jobs-delayed", "current-jobs-buried"):
        account.expect(name + ": 0\n" in stats, "%s is not 0" % name)
    last.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--shards", required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=24)
    arguments = parser.parse_args()
    seed = time.time_ns() % (1 << 32)
    print("seed %d" % seed, flush=True)
    account = Account()
    with Flatlined(arguments.server, "--shards", arguments.shards) as server:
        crowd(server, arguments, account, seed)
        left_alone(Client(server), account)
    print("%d jobs" % account.done)
    return account.status()


if __name__ == "__main__":
    sys.exit(main())
