"""The table that a run prints."""

import dataclasses
import datetime
import os
import platform


@dataclasses.dataclass
class Row:
    """One line: what was done, what was to be reached, and what came out."""

    work: str
    goal: str
    skylight: str
    beside: str
    #: The measured value that the goal limits, as text.
    result: str
    #: True if the goal is met; `None` without a goal.
    met: bool | None = None

    @property
    def verdict(self):
        return {True: "met", False: "**missed**", None: "–"}[self.met]


def at_least(ratio, limit):
    return f"{ratio:.2f}x", ratio >= limit


def at_most(ratio, limit):
    return f"{ratio:.2f}x", ratio <= limit


def rate(number):
    """Something per second, in a few digits."""
    if number >= 1e6:
        return f"{number / 1e6:.2f} M/s"
    return f"{number / 1e3:.1f} k/s" if number >= 1e3 else f"{number:.0f}/s"


def throughput(bytes_per_second):
    return f"{bytes_per_second / 1e9:.2f} GB/s" if bytes_per_second >= 1e9 else f"{bytes_per_second / 1e6:.0f} MB/s"


def micros(number):
    return f"{number / 1e3:.2f} ms" if number >= 1000 else f"{number:.0f} µs"


def _processor():
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def _memory():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def machine():
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    return (
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC · {os.cpu_count()} × {_processor()}, {_memory():.0f} GiB · "
        f"{platform.system()} {platform.release()} · load before {load}"
    )


def table(rows, headline, legend):
    """The run as Markdown."""
    lines = [headline, "", "| work | goal | Skylight | beside it | result | |", "|---|---|---|---|---|---|"]
    for row in rows:
        lines.append("| " + " | ".join((row.work, row.goal, row.skylight, row.beside, row.result, row.verdict)) + " |")
    missed = sum(row.met is False for row in rows)
    with_goal = sum(row.met is not None for row in rows)
    lines += ["", f"{with_goal - missed} of {with_goal} goals met, {missed} missed.", "", "Requests:", ""]
    lines += [f"- {name}: `{request}`" for name, request in legend.items()]
    return "\n".join(lines) + "\n"
