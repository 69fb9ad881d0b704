"""A flatlined of a test's own, at a port that the system chose; and what a test found wrong."""
import os
import re
import socket
import subprocess


class Faults:
    def __init__(self):
        self.found = []

    def expect(self, holds, text):
        if not holds:
            self.found.append(text)

    def status(self):
        """Prints them; the exit status of the test."""
        print("%d faults" % len(self.found))
        for each in self.found[:10]:
            print("  " + each[:300])
        return 1 if self.found else 0


class Flatlined:
    """Is told to end behind the block in which it is used, which it has to do with status 0; and killed behind one that
    did not come to its end. What is given to `limited` is done in its process before it begins."""

    def __init__(self, program, *options, limited=None):
        self.process = subprocess.Popen([program, "-p", "0", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        text=True, preexec_fn=limited)
        self.port = int(re.search(r" port (\d+)", self.process.stdout.readline())[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, why, where):
        if kind is None:
            self.process.terminate()
        else:
            self.process.kill()
        status = self.process.wait(20)
        self.process.stdout.close()
        if kind is None and status != 0:
            raise AssertionError("flatlined ended with status %d" % status)

    def connect(self):
        made = socket.create_connection(("127.0.0.1", self.port))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(30)
        return made

    def seconds_used(self):
        """Of the processors."""
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
