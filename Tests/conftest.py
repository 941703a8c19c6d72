"""Distribution of the Python tests over parallel processes (`-n auto`)."""

import os

import pytest

# Tests that look at demo data that nobody changes, or that have their own server. They may run in any process.
SPREAD = {"test_accessibility.py", "test_page_weight.py", "test_schemathesis.py"}
# The longest tests start first, so that no process finishes late.
FIRST = [
    "test_crawl.py", "test_schemathesis.py", "test_kill_uploads.py", "test_kill.py", "test_many_containers.py", "test_accessibility.py", "test_page_weight.py",
]


def pytest_xdist_auto_num_workers():
    """One more than the number of processors, because much time is spent waiting for browsers and servers."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


# Before xdist reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    # The tests of a file share its servers and data, so they stay together and in order.
    for item in items:
        if item.path.name not in SPREAD:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))
