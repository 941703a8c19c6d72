"""Runs in a network and a mount namespace of its own, where CloudKit's host is this machine: `in_namespace.py FOLDER`.

There the server that stands for iCloud has iCloud's name, port and TLS, so the proxy before it is started as for iCloud itself, without an option for tests.
"""

import fcntl
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys

from required_server import RequiredServer
from test_as_icloud import HOST, PYTHON, Place

SIOCSIFFLAGS, IFF_UP = 0x8914, 1

# Files have another host at iCloud, so the proxy passes requests for records alone on.
RECORDS = '''
import requests
root = "https://api.apple-cloudkit.com/database/1/iCloud.com.example.Fixed/development/private/"
record = {"recordType": "Note", "recordName": "two", "fields": {}}
requests.post(root + "records/modify", json={"operations": [{"operationType": "forceReplace", "record": record}]}, timeout=60).raise_for_status()
print(requests.post(root + "records/lookup", json={"records": [{"recordName": "one"}, {"recordName": "two"}]}, timeout=60).text)
'''


def run(program, place, **environment):
    bare = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**bare, "REQUESTS_CA_BUNDLE": place.authority, **environment}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def main(folder):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    hosts = pathlib.Path(folder, "hosts")
    hosts.write_text(f"127.0.0.1 localhost {HOST}\n")
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)
    with RequiredServer("--auth", "open", "--protocol-only", "--as-icloud", "--icloud-port", "443") as origin:
        there = Place(origin)
        # The name alone leads there.
        said = {"direct": run(PYTHON, there).split()}
        with RequiredServer("--auth", "open", "--proxy", "iCloud.com.example.Fixed", "--icloud-port", "0", environment={"SKYLIGHT_TLS_CA": there.authority}) as proxy:
            between = Place(proxy)
            said["passed"] = json.loads(run(RECORDS, between, HTTPS_PROXY=between.proxy))["records"]
            # Another container is answered by the proxy.
            said["stored"] = json.loads(run(RECORDS.replace("Fixed", "Other"), between, HTTPS_PROXY=between.proxy))["records"]
    print(json.dumps(said))


main(*sys.argv[1:])
