"""What moves on a page whose scripts come late: after the page is drawn as a whole."""

from playwright.sync_api import expect

from waiting import until

OBSERVE = """
{
  const seen = []
  const see = entries => {
    for (const { value, hadRecentInput, sources } of entries) {
      if (!hadRecentInput) seen.push([value, sources.map(({ node }) => (node?.outerHTML ?? node?.data ?? '').slice(0, 300))])
    }
  }
  const observer = new PerformanceObserver(list => see(list.getEntries()))
  observer.observe({ type: 'layout-shift', buffered: true })
  window.takeShifts = () => {
    see(observer.takeRecords())
    return seen.splice(0)
  }
}
"""
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


class SlowPage:
    """Pages in one window."""

    def __init__(self, page):
        self.page = page
        self.held = []
        page.add_init_script(OBSERVE)
        page.route("**/skylight.js", lambda route: self.held.append(route))

    def open(self, path: str) -> tuple[list, list]:
        """The shifts of a page before its scripts run and after, each with its value and the elements that moved."""
        page = self.page
        page.goto(path, wait_until="commit")
        until(lambda: self.held and page.evaluate("document.readyState") == "interactive", page)
        page.evaluate(DRAWN)
        before = page.evaluate("takeShifts()")
        self.held.pop().continue_()
        # The button comes after the last script.
        expect(page.locator("[data-shortcuts-open]:not([hidden])")).to_have_count(1)
        page.evaluate(DRAWN)
        return before, page.evaluate("takeShifts()")
