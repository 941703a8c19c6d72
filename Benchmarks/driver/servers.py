"""Servers that are measured: their processes, their processor time and memory."""

import json
import os
import signal
import socket
import struct
import subprocess
import time
import urllib.request

import tools

_TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A process that listens on a port of this machine."""

    def __init__(self, command, port=None, environment=None):
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE if port is None else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.port = port if port is not None else self._announced_port()

    def _announced_port(self):
        line = self.process.stdout.readline()
        digits = line.rstrip().rstrip("/").rpartition(":")[2]
        if not digits.isdigit():
            raise RuntimeError(f"{self.process.args[0]} did not start: {line!r}")
        return int(digits)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends the process as its owner would."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self):
        """Ends the process as a power failure would."""
        self.process.kill()
        self.process.wait()

    def wait_until_up(self, path):
        """Waits for the first answer."""
        for _ in range(600):
            try:
                urllib.request.urlopen(self.address + path, timeout=5).read()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{self.process.args[0]} ended with code {self.process.returncode}")
                time.sleep(0.05)
        raise RuntimeError(f"{self.process.args[0]} does not answer")

    def processor_seconds(self):
        """User and system time so far (proc(5), /proc/pid/stat)."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self, what="VmRSS"):
        """Memory in MiB: `VmRSS` for now, `VmHWM` for the most it ever was."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith(what + ":"))

    # The client in C

    def load(self, file, connections=1, rate=0, seconds=0, status=200):
        """Sends the requests of a file; every answer must have the status, and one of status 200 no error."""
        return tools.run(tools.client(), "load", self.port, file, connections, rate, seconds, status)

    def read(self, path):
        """Reads a long answer to its end."""
        return tools.run(tools.client(), "read", self.port, path)

    def fetch(self, path, header=""):
        """Reads a file to its end without looking at it. Returns the seconds that took."""
        return tools.run(tools.client(), "fetch", self.port, path, *([header] if header else []))["seconds"]

    def upload(self, path, file):
        """Posts a file. Returns the seconds until the answer was there."""
        return tools.run(tools.client(), "upload", self.port, path, file)["seconds"]

    def stall(self, path, connections):
        """Lets so many readers begin a long answer and stop reading. Returns the process that holds them."""
        readers = subprocess.Popen(
            [tools.client(), "stall", str(self.port), path, str(connections)], stdout=subprocess.PIPE, text=True
        )
        readers.stdout.readline()
        return readers

    def take(self, file, slow):
        """Lets clients take notifications, each with a request of a file, until one comes of a record whose name begins with `fence`."""
        takers = subprocess.Popen([tools.client(), "take", str(self.port), file, str(slow)], stdout=subprocess.PIPE, text=True)
        takers.stdout.readline()
        return takers

    # Single requests

    def exchange(self, request):
        """Sends the bytes of a request. Returns those of the answer, which must say its length."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as connection:
            connection.sendall(request)
            answer = b""
            while (end := answer.find(b"\r\n\r\n")) < 0:
                answer += connection.recv(1 << 16)
            fields = dict(line.lower().split(b": ", 1) for line in answer[:end].split(b"\r\n")[1:])
            while len(answer) < end + 4 + int(fields[b"content-length"]):
                answer += connection.recv(1 << 16)
        return answer

    def send(self, path, body=None, method=None, headers=None):
        """Sends one request and reads the JSON of its answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + path, data=data, method=method, headers={"Content-Type": "application/json", **(headers or {})}
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            text = answer.read()
        return json.loads(text) if text else None


class Syncs:
    """Counts the syncs of a process that is started with `environment`."""

    def __init__(self, file):
        self._file = file
        file.write_bytes(bytes(16))
        self.environment = {"LD_PRELOAD": str(tools.sync_counter()), "SYNC_COUNT_FILE": str(file)}

    @property
    def of_logs(self):
        return struct.unpack("<QQ", self._file.read_bytes())[0]


def skylight(binary, data, environment=None, options=()):
    return Server([binary, "serve", "--data", data, "--port", "0", "--log-level", "error", *options], environment=environment)


def free_port():
    """A port that nobody listens on, for servers that can't say which one they picked."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
