"""The stores that each format left, and the program that opens them."""

import os
import pathlib

import pytest

import postgresql
from generation import Generation
from program import Program

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def binary():
    """The program that `make test` built; named by SKYLIGHT_BIN."""
    path = os.environ.get("SKYLIGHT_BIN", str(PACKAGE / ".build/debug/skylight"))
    if not os.access(path, os.X_OK):
        pytest.exit(f"There is no binary at {path}: run 'make test', or 'swift build' first", returncode=2)
    return path


@pytest.fixture(params=Generation.all(), ids=lambda generation: generation.folder.name)
def generation(request):
    return request.param


@pytest.fixture
def open_copy(binary, generation, tmp_path):
    """Copies a data folder of the generation, and opens it with the program of today."""
    def copy(name="data", store=None):
        generation.unpack(f"{name}.tar.xz", tmp_path / name)
        return Program(binary, tmp_path / name, store)

    return copy


@pytest.fixture
def in_files(open_copy):
    return open_copy()


@pytest.fixture(scope="session")
def database_server():
    if not postgresql.programs():
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    server = postgresql.PostgreSQL(fsync="off")
    yield server
    server.end()


@pytest.fixture
def in_postgresql(open_copy, generation, database_server):
    """The same containers in a database of its own."""
    program = open_copy(store=generation.copy_database(database_server))
    for file in program.data.glob("*/*.sqlite"):
        file.unlink()
    return program


@pytest.fixture(params=["in_files", "in_postgresql"])
def program(request):
    """The program on a copy of the generation's stores: in files, and in PostgreSQL."""
    return request.getfixturevalue(request.param)
