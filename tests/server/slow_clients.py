#!/usr/bin/env python3
"""Clients that take their time. Whoever does not send the rest of a command or of a body, or does not take its answers,
within the client's timeout is disconnected, and what it held is free again; whoever is idle, waits for a job, or goes on
all the time stays.

    slow_clients.py --server PROGRAM --shards N
"""
import argparse
import signal
import socket
import subprocess
import sys
import threading
import time

TIMEOUT = 1  # seconds, of the server
FAULTS = []


def expect(holds, text):
    if not holds:
        FAULTS.append(text)
        print("FAULT: " + text)


def connect(port):
    made = socket.create_connection(("127.0.0.1", port))
    made.settimeout(20)
    return made


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


def goes_silent(port, what, bytes_sent):
    client = connect(port)
    client.sendall(bytes_sent)
    expect(is_disconnected(client, 8 * TIMEOUT), what + ": the client is still connected")
    client.close()


def writes_single_bytes(port):
    client = connect(port)
    try:
        for _ in range(8 * TIMEOUT * 4):
            client.sendall(b"x")
            time.sleep(0.25)
    except ConnectionError:
        return
    finally:
        client.close()
    expect(False, "a line in single bytes: the client is still connected")


def takes_no_answers(port):
    """More than the system keeps for it."""
    client = connect(port)
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
        expect(False, "answers that nobody takes: the client is still connected")
    except ConnectionError:
        pass
    else:
        expect(False, "answers that nobody takes: the client is still connected after %.1f s" % (time.monotonic() - begun))
    client.close()
    last = connect(port)
    expect(ask(last, b"delete " + job + b"\r\n") == b"DELETED\r\n", "the job that was sent is not there")
    last.close()


def stays(port, what, work):
    client = connect(port)
    try:
        work(client)
    except (ConnectionError, TimeoutError, AttributeError) as error:
        expect(False, "%s: %r" % (what, error))
    expect(ask(client, b"list-tube-used\r\n") is not None, what + ": the client was disconnected")
    client.close()


def goes_on(client):
    """Always in the middle of a command."""
    end = time.monotonic() + 4 * TIMEOUT
    client.sendall(b"list-tube")
    while time.monotonic() < end:
        expect(ask(client, b"-used\r\nlist-tube") == b"USING default\r\n", "a client that goes on is not answered")
        time.sleep(TIMEOUT / 10)
    ask(client, b"-used\r\n")


def waits(port):
    def work(client):
        ask(client, b"watch late\r\n")
        client.sendall(b"reserve\r\nlist-tu")
        time.sleep(3 * TIMEOUT)
        other = connect(port)
        ask(other, b"use late\r\n")
        ask(other, b"put 0 0 60 1\r\nx\r\n")
        other.close()
        expect(client.recv(100).startswith(b"RESERVED"), "a client that waited got no job")
        ask(client, b"bes\r\n")

    return work


def holds_no_block(server, shards):
    """Bodies that are never finished take every block of a little memory, and give all back."""
    port = server.port
    clients = [connect(port) for _ in range(60)]
    for client in clients:
        client.sendall(b"put 0 0 60 60000\r\nbegun")
    time.sleep(0.5)
    last = connect(port)
    put = b"put 0 0 60 60000\r\n" + 60000 * b"b" + b"\r\n"
    expect(ask(last, put) == b"OUT_OF_MEMORY\r\n", "there is room beside so many bodies that have begun")
    time.sleep(3 * TIMEOUT)
    expect((ask(last, put) or b"").startswith(b"INSERTED"), "blocks of bodies that never came are not free again")
    for client in [*clients, last]:
        client.close()


class Server:
    def __init__(self, options, *more):
        self.process = subprocess.Popen([options.server, "-p", "0", "--shards", str(options.shards), "--client-timeout",
                                         str(TIMEOUT), *more], text=True, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().split(" port ")[1].split(",")[0])

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        expect(self.process.wait(20) == 0, "the server ended with status %d" % self.process.returncode)
        self.process.stdout.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--shards", type=int, required=True)
    options = parser.parse_args()
    server = Server(options)
    port = server.port
    people = [(goes_silent, port, "half a line", b"reser"), (goes_silent, port, "half a body", b"put 0 0 9 9\r\nhalf"),
              (goes_silent, port, "half a body that is too big", b"put 0 0 9 99999\r\nhalf"),
              (goes_silent, port, "a line without an end", 1000 * b"x"), (writes_single_bytes, port),
              (takes_no_answers, port), (stays, port, "idle", lambda client: time.sleep(4 * TIMEOUT)),
              (stays, port, "busy", goes_on), (stays, port, "waiting", waits(port))]
    threads = [threading.Thread(target=what, args=arguments) for what, *arguments in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.end()
    server = Server(options, "--memory", "%dM" % (2 * options.shards))
    holds_no_block(server, options.shards)
    server.end()
    print("%d faults" % len(FAULTS))
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
