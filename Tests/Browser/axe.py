"""What axe finds wrong with a page.

    assert not problems(page), problems(page)
"""

from axe_playwright_python.base import AXE_SCRIPT, AxeResults

# The rules that look at colours. Light and dark differ in nothing else (test_styles.py), so where a page was looked at in one of them as a whole,
# these are all that can find more in the other. They take half of the time.
OF_COLOURS = ["color-contrast", "link-in-text-block"]

# Only what is wrong comes back: the list of what is right is long. No rule that runs asks for the style sheets, which are not fetched again.
RUN = """async rules => {
  const { violations } = await axe.run({ resultTypes: ['violations'], preload: { assets: ['media'] }, ...(rules && { runOnly: { type: 'rule', values: rules } }) })
  return violations
}"""


def problems(page, colours_alone: bool = False) -> str:
    """What is wrong, in words; nothing if nothing is."""
    # A page keeps the script until it is left.
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(RUN, OF_COLOURS if colours_alone else None)
    return AxeResults({"violations": found}).generate_report() if found else ""
