#!/usr/bin/env python3
"""Gives the same random commands to flatlined and to beanstalkd, over several connections, one command at a time, and
compares the answers. One connection at a time may wait in a reserve meanwhile. They are equal but for ids, of which one stands for the other each time, and for times and what
else can differ in statistics.

    differential.py --server PROGRAM --shards N [--commands 50000] [--seed N]

Exit status 0: equal. 1: not; the first command whose answers differ is printed. 77: there is no
beanstalkd.
"""
import argparse
import difflib
import os
import random
import re
import select
import shutil
import socket
import subprocess
import sys
import time

CONNECTIONS = 5
TUBES = ["default", "a", "b", "mail/high", "x" * 200, "t1", "t2"]
NOT_COMPARED = re.compile(rb"^(id|age|time-left|pause-time-left|pid|version|rusage-.*|uptime|hostname|os|platform|binlog-.*"
                          rb"|file|cmd-kick-job|cmd-reserve-job|total-connections): .*\n", re.M)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peer:
    """One of the two servers, with its connections."""

    def __init__(self, command):
        self.port, self.sockets, self.buffers = free_port(), {}, {}
        self.process = subprocess.Popen([*command, "-l", "127.0.0.1", "-p", str(self.port)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)

    def connect(self, number):
        end = time.monotonic() + 20
        while True:
            try:
                made = socket.create_connection(("127.0.0.1", self.port))
                break
            except ConnectionRefusedError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise
                time.sleep(0.02)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(10)
        self.sockets[number], self.buffers[number] = made, b""

    def disconnect(self, number):
        self.sockets.pop(number).close()

    def send(self, number, data):
        self.sockets[number].sendall(data)

    def more(self, number):
        came = self.sockets[number].recv(1 << 20)
        if not came:
            raise EOFError("the connection was closed")
        self.buffers[number] += came

    def answer(self, number):
        """One line, and the body that it announces, as (words, body)."""
        while b"\r\n" not in self.buffers[number]:
            self.more(number)
        line, self.buffers[number] = self.buffers[number].split(b"\r\n", 1)
        words, body = line.split(b" "), None
        if words[0] in (b"RESERVED", b"FOUND", b"OK"):
            size = int(words[-1]) + 2
            while len(self.buffers[number]) < size:
                self.more(number)
            body, self.buffers[number] = self.buffers[number][:size], self.buffers[number][size:]
        return words, body

    def has_answer(self, number):
        """Whether one has begun to come."""
        return bool(self.buffers[number]) or bool(select.select([self.sockets[number]], [], [], 0)[0])

    def end(self):
        self.process.terminate()
        self.process.wait()


class Commands:
    """Draws commands. An id is one of those that were seen, by its number in the order of their puts."""

    def __init__(self, chance):
        self.chance, self.jobs = chance, 0

    def tube(self):
        return self.chance.choice(TUBES)

    def job(self):
        if self.jobs == 0 or self.chance.random() < 0.03:
            return "none"
        return self.chance.choice([self.jobs - 1 - min(self.jobs - 1, int(self.chance.expovariate(0.05))),
                                   self.chance.randrange(self.jobs)])

    def number(self):
        return self.chance.choice([0, 1, 5, 1023, 1024, 1025, 4294967295, self.chance.randrange(1 << 32)])

    def draw(self):
        chance = self.chance
        kind = chance.choices(
            ["put", "reserve", "reserve-job", "delete", "release", "bury", "touch", "kick", "kick-job", "use", "watch",
             "ignore", "peek", "peek-ready", "peek-delayed", "peek-buried", "stats-job", "stats-tube", "stats",
             "list-tubes", "list-tube-used", "list-tubes-watched", "pause-tube", "wrong", "reconnect", "wait"],
            [30, 22, 3, 14, 9, 6, 3, 2, 3, 8, 7, 6, 2, 2, 2, 2, 5, 4, 1, 1, 1, 1, 0.3, 3, 0.4, 2])[0]
        if kind == "put":
            size = chance.choice([0, 1, 10, 100, 5000, 65535, 65536]) if chance.random() < 0.1 else chance.randrange(60)
            body = bytes(chance.choices(b"ab\r\n 0", k=size)) if size < 200 else b"z" * size
            delay = chance.choice([0, 0, 0, 0, 1000, 5000, 100000])
            return ("put", "put %d %d %d %d\r\n" % (self.number(), delay, chance.choice([1000, 5000]), size), body)
        if kind == "reserve":
            return ("reserve", "reserve-with-timeout 0\r\n")
        if kind in ("reserve-job", "delete", "touch", "kick-job", "peek", "stats-job"):
            return (kind, kind + " %s\r\n", self.job())
        if kind == "release":
            return (kind, "release %%s %d %d\r\n" % (self.number(), chance.choice([0, 0, 2000, 9000])), self.job())
        if kind == "bury":
            return (kind, "bury %%s %d\r\n" % self.number(), self.job())
        if kind == "kick":
            return (kind, "kick %d\r\n" % chance.choice([0, 1, 2, 3, 1000]))
        if kind in ("use", "watch", "ignore", "stats-tube"):
            return (kind, "%s %s\r\n" % (kind, self.tube()))
        if kind == "pause-tube":
            return (kind, "pause-tube %s %d\r\n" % (self.tube(), chance.choice([0, 0, 3600])))
        if kind == "wrong":
            if chance.random() < 0.2:
                return ("2 answers", "put 0 0 9 %d\r\n" % chance.choice([0, 1, 2]) + "a" * chance.randrange(4, 200) + "\r\n")
            return (kind, chance.choice(["", " ", "reserve ", "foo", "use -a", "put 1 2 3", "delete x", "kick", "use a b",
                                         "reserve-job", "watch " + "y" * 201, "z" * 300, "peek-readyx", "touch 1 "]) + "\r\n")
        if kind == "wait":
            return (kind, chance.choice(["reserve\r\n", "reserve-with-timeout 3600\r\n"]))
        return (kind, kind + "\r\n")


def comparable(words, body, number_of):
    """The answer without what may differ; ids as numbers in the order of their puts."""
    words = list(words)
    if words[0] in (b"INSERTED", b"RESERVED", b"FOUND"):
        words[1] = number_of(words[1])
    if words[0] == b"OK":
        words[1] = b"-"
        body = NOT_COMPARED.sub(b"", body)
        if body.startswith(b"---\n- "):
            body = b"\n".join(sorted(body.split(b"\n")))
    return words, body


class Run:
    def __init__(self, server, shards):
        self.peers = [Peer([server, "--shards", shards]), Peer(["beanstalkd"])]
        self.ids = [[], []]
        self.numbers = [{}, {}]
        self.waiting = None  # the connection that waits in a reserve
        for peer in self.peers:
            for number in range(CONNECTIONS):
                peer.connect(number)

    def end(self):
        for peer in self.peers:
            peer.end()

    def begin_to_wait(self, number, text):
        """Only if there is nothing for it: two answers to one command cannot be told apart in time."""
        if self.waiting is not None:
            return [None, None]
        found = self.do(number, ("reserve", "reserve-with-timeout 0\r\n"))
        if found[0] != found[1] or found[0][0] != [b"TIMED_OUT"]:
            return found
        for peer in self.peers:
            peer.send(number, text.encode())
            peer.send(0 if number != 0 else 1, b"list-tube-used\r\n")  # it waits once another is answered
            peer.answer(0 if number != 0 else 1)
        self.waiting = number
        return [None, None]

    def end_of_wait(self):
        """What each answers the connection that waits, if one of them has."""
        number = self.waiting
        if number is None or not any(peer.has_answer(number) for peer in self.peers):
            return [None, None]
        self.waiting = None
        return [comparable(*peer.answer(number), self.numbers[side].get) for side, peer in enumerate(self.peers)]

    def do(self, number, command):
        """What each answers."""
        if command[0] == "wait":
            return self.begin_to_wait(number, command[1])
        if command[0] == "reconnect":
            # Of what a client had reserved, one that waits gets the best job; by beanstalkd, the one reserved first.
            if self.waiting is not None:
                return [None, None]
            for peer in self.peers:
                peer.disconnect(number)
                peer.connect(number)
                peer.send(number, b"list-tube-used\r\n")  # its old jobs are ready once others see that it has gone
                peer.answer(number)
            time.sleep(0.01)
            return [None, None]
        found = []
        for side, peer in enumerate(self.peers):
            text = command[1]
            if len(command) > 2 and command[0] != "put":
                job = command[2]
                text %= 0 if job == "none" else self.ids[side][job].decode()
            data = text.encode() + (command[2] + b"\r\n" if command[0] == "put" else b"")
            peer.send(number, data)
            if command[0] == "2 answers":
                found.append([peer.answer(number), peer.answer(number)])
                continue
            words, body = peer.answer(number)
            if words[0] == b"INSERTED":
                self.numbers[side][words[1]] = len(self.ids[side])
                self.ids[side].append(words[1])
            found.append(comparable(words, body, self.numbers[side].get))
        return found


def lines_of(answer):
    words, body = answer
    return [repr(words)] + [repr(line)[:100] for line in (body or b"")[:3000].split(b"\n")]


def differ(arguments, commands, chance):
    """The number of jobs that were put, or None if answers differ."""
    source, run, done = Commands(chance), Run(arguments.server, arguments.shards), 0
    try:
        for done in range(commands):
            number, command = chance.randrange(CONNECTIONS), source.draw()
            if number == run.waiting:
                number = (number + 1) % CONNECTIONS
            ours, theirs = run.do(number, command)
            if ours == theirs:
                ours, theirs = run.end_of_wait()
            source.jobs = len(run.ids[0])
            if ours != theirs:
                break
        else:
            return source.jobs
    finally:
        run.end()
    print("after %d commands, by connection %d: %.300r" % (done, number, command))
    print("flatlined and beanstalkd:")
    print("\n".join(difflib.unified_diff(*(lines_of(each) for each in (ours, theirs)), lineterm="", n=1)))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--shards", required=True)
    parser.add_argument("--commands", type=int, default=50000)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FLATLINE_TEST_SEED", time.time_ns() % (1 << 32))))
    arguments = parser.parse_args()
    if not shutil.which("beanstalkd"):
        print("there is no beanstalkd: run scripts/bootstrap test")
        return 77
    print("seed %d" % arguments.seed, flush=True)
    chance = random.Random(arguments.seed)
    left, jobs = arguments.commands, 0
    while left > 0:  # from time to time both begin anew, before the first has no memory left
        found = differ(arguments, min(left, 20000), chance)
        if found is None:
            return 1
        left, jobs = left - 20000, jobs + found
    print("%d commands, %d jobs: the answers are equal" % (arguments.commands, jobs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
