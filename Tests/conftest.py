"""How the tests in Python are shared among processes that run side by side (`-n auto`)."""

import os

import pytest

# Tests that share nothing but a server with demo data, which they leave as it was, or that have a server for themselves: any process may take any.
SPREAD = {"test_accessibility.py", "test_page_weight.py", "test_schemathesis.py"}
# What takes longest begins first, so that no process is still busy when the others are done. Then come the tests of pages as the demo data fill them,
# before other tests add to it.
FIRST = ["test_schemathesis.py", "test_kill_uploads.py", "test_kill.py", "test_crawl.py", "test_accessibility.py", "test_page_weight.py"]


def pytest_xdist_auto_num_workers():
    """One more than there are processors: much of the time is spent waiting, for browsers and servers."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


# Before xdist looks for groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    # The tests of a file share its servers and what they saved, so they stay together and in their order.
    for item in items:
        if item.path.name not in SPREAD:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))
