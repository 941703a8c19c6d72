"""A PostgreSQL server for killing, with its data in a folder."""

import glob
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from waiting import PATIENCE


def programs():
    """The folder of the server's programs; None if it is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4].split(".")[0]))
    path = found[-1] if found else shutil.which("initdb")
    return pathlib.Path(path).parent if path else None


class PostgreSQL:
    """Listens on a socket in its folder, and waits for the disk at each commit as usual.

    With `fsync="off"` it does not, for tests that kill nothing.
    """

    def __init__(self, fsync="on"):
        self.fsync = fsync
        # PostgreSQL refuses to run as root.
        self.user = "postgres" if os.getuid() == 0 else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="skylight-kill-"))
        if self.user:
            shutil.chown(self.folder, self.user)
        self.log = open(self.folder / "log", "w")
        self.run("initdb", "--pgdata", "data", "--username", "skylight", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync").wait(timeout=120)
        self.address = f"postgres://skylight@/postgres?host={self.folder}"
        self.start()

    def run(self, program, *arguments):
        return subprocess.Popen([programs() / program, *arguments], cwd=self.folder, user=self.user, stdout=self.log, stderr=self.log)

    def start(self):
        """Starts it, and waits until it answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            # Its segments of memory are files in its folder, because a kill leaves others behind.
            settings = [f"unix_socket_directories={self.folder}", "listen_addresses=", f"fsync={self.fsync}", "dynamic_shared_memory_type=mmap"]
            self.process = self.run("postgres", "-D", "data", *(word for setting in settings for word in ("-c", setting)))
            while self.process.poll() is None:
                if self.run("pg_isready", "--quiet", "--host", str(self.folder)).wait(timeout=60) == 0:
                    return
                time.sleep(0.02)
            # The processes of the one that was killed are not all gone yet.
            time.sleep(0.1)
        raise AssertionError("PostgreSQL does not start; see " + str(self.folder / "log"))

    def kill(self):
        """Kills all of its processes like a power failure."""
        children = subprocess.run(["ps", "--ppid", str(self.process.pid), "-o", "pid="], capture_output=True, text=True).stdout.split()
        self.process.kill()
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(timeout=60)

    def end(self):
        if self.process.poll() is None:
            # At once, yet nothing stays in shared memory as after a kill.
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(timeout=PATIENCE)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
