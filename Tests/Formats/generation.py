"""A folder with the stores of one format."""

import io
import itertools
import json
import lzma
import pathlib
import subprocess
import tarfile

import postgresql

HERE = pathlib.Path(__file__).resolve().parent


class Generation:
    #: The databases that have the stores of a generation, and numbers for copies of them.
    originals, numbers = set(), itertools.count(1)

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.kept = json.loads((self.folder / "kept.json").read_text())

    @classmethod
    def all(cls):
        """The formats so far, the oldest first."""
        return [cls(file.parent) for file in sorted(HERE.glob("*/kept.json"))]

    @property
    def expected(self):
        return json.loads((self.folder / "expected.json").read_text())

    def unpack(self, name, target):
        """Writes a copy of a data folder, for its owner only."""
        target.mkdir(parents=True, mode=0o700)
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress((self.folder / name).read_bytes()))) as archive:
            # Our own archive; its files are for their owner only.
            archive.extractall(target, filter="fully_trusted")

    def copy_database(self, server):
        """The address of a new database with the stores of this generation: a copy of one that no program opens."""
        original = f"format {self.folder.name}"
        if original not in self.originals:
            sql(server, "postgres", f'CREATE DATABASE "{original}"'.encode())
            sql(server, original, lzma.decompress((self.folder / "postgresql.sql.xz").read_bytes()))
            self.originals.add(original)
        copy = f"copy_{next(self.numbers)}"
        sql(server, "postgres", f'CREATE DATABASE {copy} TEMPLATE "{original}"'.encode())
        return server.address.replace("/postgres?", f"/{copy}?")


def sql(server, database, text):
    subprocess.run(
        [postgresql.programs() / "psql", "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--host", server.folder, "--username", "skylight", database],
        input=text, stdout=subprocess.DEVNULL, check=True)
