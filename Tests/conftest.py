"""How the tests in Python are shared among processes that run side by side (`-n auto`)."""

import os

import pytest

# Tests that find all they need on a server with demo data, and leave it as it was: any process may take any of them.
SPREAD = {"test_accessibility.py", "test_page_weight.py"}
# What takes longest begins first, so that no process is still busy when the others are done.
FIRST = ["test_kill_uploads.py", "test_kill.py"]


def pytest_xdist_auto_num_workers():
    """One more than there are processors: much of the time is spent waiting, for browsers and servers."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items):
    # The tests of a file share its servers and what they saved, so they stay together and in their order.
    for item in items:
        if item.path.name not in SPREAD:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST) + (item.path.name in SPREAD))
