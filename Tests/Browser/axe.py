"""The accessibility problems that axe finds on a page.

    assert not problems(page), problems(page)
"""

from axe_playwright_python.base import AXE_SCRIPT, AxeResults

# Only violations are returned, because the list of passes is long. No active rule needs the style sheets, so they are not loaded again. The rows of a
# long table are alike, so 24 of them are enough.
RUN = """async () => {
  const options = { resultTypes: ['violations'], preload: { assets: ['media'] } }
  const { violations } = await axe.run({ exclude: [['tbody tr:nth-child(n+25)']] }, options)
  return violations
}"""


def problems(page) -> str:
    """The violations as text; empty if there are none."""
    # A click returns at the first bytes of the page it leads to.
    page.wait_for_load_state()
    # A page keeps the script until it is left.
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN)
    return AxeResults({"violations": found}).generate_report() if found else ""
