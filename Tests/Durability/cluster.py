"""Three PostgreSQL servers of which one leads (Scripts/cluster), for killing the leader."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time
import urllib.request

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


def is_installed():
    return all(shutil.which(program) for program in ("etcd", "patroni"))


class Cluster:
    def __init__(self):
        self.process = subprocess.Popen([PACKAGE / "Scripts/cluster"], stdout=subprocess.PIPE, text=True)
        # Lines such as: export NAME='value'
        lines = (self.process.stdout.readline() for _ in range(2))
        variables = dict(shlex.split(line)[1].split("=", 1) for line in lines if line)
        assert len(variables) == 2, "the cluster does not start"
        self.address, self.folder = variables["SKYLIGHT_POSTGRESQL"], pathlib.Path(variables["SKYLIGHT_CLUSTER"])

    def roles(self):
        """The members' roles by their names, as far as they are running."""
        for file in sorted(self.folder.glob("*.json")):
            address = json.loads(file.read_text())["restapi"]["connect_address"]
            try:
                with urllib.request.urlopen(f"http://{address}/cluster", timeout=5) as answer:
                    members = json.load(answer)["members"]
            except OSError:
                continue
            return {member["name"]: member["role"] for member in members if member["state"] in ("running", "streaming")}
        return {}

    def leader(self):
        return next((name for name, role in self.roles().items() if role == "leader"), None)

    def kill_leader(self):
        """Kills the leader's PostgreSQL and Patroni, like a power failure. Returns its name."""
        name = self.leader()
        server = int((self.folder / name / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["ps", "--ppid", str(server), "-o", "pid="], capture_output=True, text=True).stdout.split()
        for process in [int((self.folder / f"{name}.pid").read_text()), server, *map(int, children)]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return name

    def wait_for_leader_besides(self, name):
        """Waits until another one leads, and all three are there again."""
        end = time.monotonic() + 300
        while self.leader() in (name, None) or sorted(self.roles().values()) != ["leader", "replica", "sync_standby"]:
            assert time.monotonic() < end, f"the cluster is not whole again: {self.roles()}; see {self.folder}"
            time.sleep(0.2)

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()
