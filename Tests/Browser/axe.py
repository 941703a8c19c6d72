"""The accessibility problems that axe finds on a page.

    assert not problems(page), problems(page)
"""

from axe_playwright_python.base import AXE_SCRIPT, AxeResults

# The rules about colors. The themes differ in nothing else (test_styles.py), so after a complete run in one theme, only these can find more in the
# other. They take half of the time.
OF_COLOURS = ["color-contrast", "link-in-text-block"]

# Only violations are returned, because the list of passes is long. No active rule needs the style sheets, so they are not loaded again. The rows of a
# long table are alike, so 24 of them are enough.
RUN = """async rules => {
  const options = { resultTypes: ['violations'], preload: { assets: ['media'] }, ...(rules && { runOnly: { type: 'rule', values: rules } }) }
  const { violations } = await axe.run({ exclude: [['tbody tr:nth-child(n+25)']] }, options)
  return violations
}"""


def problems(page, colours_alone: bool = False) -> str:
    """The violations as text; empty if there are none."""
    # A page keeps the script until it is left.
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN, OF_COLOURS if colours_alone else None)
    return AxeResults({"violations": found}).generate_report() if found else ""
