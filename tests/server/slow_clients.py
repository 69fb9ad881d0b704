#!/usr/bin/env python3
"""Clients that take their time. Whoever does not send the rest of a command or of a body, or does not take its answers,
within the client's timeout is disconnected, and what it held is free again; whoever is idle, waits for a job, or goes on
all the time stays.

    slow_clients.py --server PROGRAM --shards N
"""
import argparse
import sys
import threading
import time

from flatlined import Faults, Flatlined

TIMEOUT = 1  # seconds, of the server
FAULTS = Faults()


def ask(client, text):
    client.sendall(text)
    answer = b""
    while not answer.endswith(b"\r\n"):
        more = client.recv(1 << 16)
        if not more:
            return None
        answer += more
    return answer


def is_disconnected(client, seconds):
    """Within so many seconds, whatever it is sent before."""
    end = time.monotonic() + seconds
    client.settimeout(seconds)
    try:
        while time.monotonic() < end:
            if not client.recv(1 << 16):
                return True
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False


def goes_silent(server, what, bytes_sent):
    client = server.connect()
    client.sendall(bytes_sent)
    FAULTS.expect(is_disconnected(client, 8 * TIMEOUT), what + ": the client is still connected")
    client.close()


def writes_single_bytes(server):
    client = server.connect()
    try:
        for _ in range(8 * TIMEOUT * 4):
            client.sendall(b"x")
            time.sleep(0.25)
    except ConnectionError:
        return
    finally:
        client.close()
    FAULTS.expect(False, "a line in single bytes: the client is still connected")


def takes_no_answers(server):
    """More than the system keeps for it."""
    client = server.connect()
    ask(client, b"use answers\r\n")
    job = ask(client, b"put 0 0 60 60000\r\n" + 60000 * b"b" + b"\r\n").split()[1]
    begun = time.monotonic()
    client.settimeout(12 * TIMEOUT)
    try:
        for _ in range(10000):
            client.sendall(b"peek " + job + b"\r\n")
        time.sleep(3 * TIMEOUT)
        client.sendall(b"peek " + job + b"\r\n")
        time.sleep(0.2)
        client.sendall(b"peek " + job + b"\r\n")
    except TimeoutError:
        FAULTS.expect(False, "answers that nobody takes: the client is still connected")
    except ConnectionError:
        pass
    else:
        FAULTS.expect(False, "answers that nobody takes: the client is still connected after %.1f s" % (time.monotonic() - begun))
    client.close()
    last = server.connect()
    FAULTS.expect(ask(last, b"delete " + job + b"\r\n") == b"DELETED\r\n", "the job that was sent is not there")
    last.close()


def stays(server, what, work):
    client = server.connect()
    try:
        work(client)
    except (ConnectionError, TimeoutError, AttributeError) as error:
        FAULTS.expect(False, "%s: %r" % (what, error))
    FAULTS.expect(ask(client, b"list-tube-used\r\n") is not None, what + ": the client was disconnected")
    client.close()


def goes_on(client):
    """Always in the middle of a command."""
    end = time.monotonic() + 4 * TIMEOUT
    client.sendall(b"list-tube")
    while time.monotonic() < end:
        FAULTS.expect(ask(client, b"-used\r\nlist-tube") == b"USING default\r\n", "a client that goes on is not answered")
        time.sleep(TIMEOUT / 10)
    ask(client, b"-used\r\n")


def waits(server):
    def work(client):
        ask(client, b"watch late\r\n")
        client.sendall(b"reserve\r\nlist-tu")
        time.sleep(3 * TIMEOUT)
        other = server.connect()
        ask(other, b"use late\r\n")
        ask(other, b"put 0 0 60 1\r\nx\r\n")
        other.close()
        FAULTS.expect(client.recv(100).startswith(b"RESERVED"), "a client that waited got no job")
        ask(client, b"bes\r\n")

    return work


def holds_no_block(server):
    """Bodies that are never finished take every block of a little memory, and give all back."""
    clients = [server.connect() for _ in range(60)]
    for client in clients:
        client.sendall(b"put 0 0 60 60000\r\nbegun")
    time.sleep(0.5)
    last = server.connect()
    put = b"put 0 0 60 60000\r\n" + 60000 * b"b" + b"\r\n"
    FAULTS.expect(ask(last, put) == b"OUT_OF_MEMORY\r\n", "there is room beside so many bodies that have begun")
    time.sleep(3 * TIMEOUT)
    FAULTS.expect((ask(last, put) or b"").startswith(b"INSERTED"), "blocks of bodies that never came are not free again")
    for client in [*clients, last]:
        client.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--shards", type=int, required=True)
    options = parser.parse_args()
    usual = ("--shards", str(options.shards), "--client-timeout", str(TIMEOUT))
    with Flatlined(options.server, *usual) as server:
        people = [(goes_silent, server, "half a line", b"reser"),
                  (goes_silent, server, "half a body", b"put 0 0 9 9\r\nhalf"),
                  (goes_silent, server, "half a body that is too big", b"put 0 0 9 99999\r\nhalf"),
                  (goes_silent, server, "a line without an end", 1000 * b"x"), (writes_single_bytes, server),
                  (takes_no_answers, server), (stays, server, "idle", lambda client: time.sleep(4 * TIMEOUT)),
                  (stays, server, "busy", goes_on), (stays, server, "waiting", waits(server))]
        threads = [threading.Thread(target=what, args=arguments) for what, *arguments in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Flatlined(options.server, *usual, "--memory", "%dM" % (2 * options.shards)) as server:
        holds_no_block(server)
    return FAULTS.status()


if __name__ == "__main__":
    sys.exit(main())
