"""WebKit, the engine of Safari, as WebKitGTK's MiniBrowser has it. Selenium drives it over WebDriver, on a display of its own.

`Page` has that part of Playwright's pages that the ten tasks use, so that one text of a task is done in both browsers. As in Playwright, a `Part` of a page is
looked up anew at each use; what it is asked to do, and what is expected of it, is tried until it can be done. Windows of drivers are private, so WebKit keeps
what pages write to the console to itself.
"""

import contextlib
import glob
import os
import pathlib
import shutil
import signal
import subprocess

import playwright.sync_api
import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, InvalidElementStateException, JavascriptException, NoSuchElementException, StaleElementReferenceException,
)
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.file_detector import UselessFileDetector
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.support.select import Select
from selenium.webdriver.webkitgtk.service import Service

from waiting import until

# The elements that can have a role. WebKit itself is asked for their names.
ROLES = {
    "alert": "[role=alert]", "button": "button, [role=button], input[type=submit]", "dialog": "dialog[open]", "heading": "h1, h2, h3, h4", "link": "a[href]",
    "list": "ul, ol", "region": "section, [role=region]", "row": "tr", "searchbox": "input[type=search]", "status": "[role=status], output", "textbox": "input, textarea",
}
LABELED = "input, select, textarea, [aria-label], [aria-labelledby]"
# Elements of a role that users see, and whose name may have a text: WebKit takes some milliseconds to tell a name.
SEEN = """
const named = (arguments[0] ?? document).querySelectorAll(arguments[1])
const others = it => [...(it.labels ?? []), ...(it.getAttribute('aria-labelledby')?.split(' ') ?? []).map(id => document.getElementById(id))]
const words = it => [it, ...others(it), ...it.querySelectorAll('[aria-label], [title]')]
  .map(it => it ? [it.textContent, it.getAttribute('aria-label'), it.title, it.value].join(' ') : '').join(' ').replace(/\\s+/g, ' ').toLowerCase()
return [...named].filter(it => it.checkVisibility({ visibilityProperty: true }) && words(it).includes(arguments[2]))
"""
# The innermost elements with a text.
WITH_TEXT = """
const has = it => it.textContent.replace(/\\s+/g, ' ').toLowerCase().includes(arguments[1])
return [...(arguments[0] ?? document).querySelectorAll('body *')].filter(it => has(it) && ![...it.children].some(has))
"""
IS_IN_VIEWPORT = """
const box = it.getBoundingClientRect()
return box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth
"""
# The driver looks where an element is and then points there, so a click misses what moves in between, as parts do that scripts widen while a page loads.
STANDS_STILL = """
const [it, done] = arguments
const place = () => [it.isConnected, document.readyState, ...Object.values(it.getBoundingClientRect().toJSON())].join()
const before = place()
requestAnimationFrame(() => requestAnimationFrame(() => done(document.readyState === 'complete' && place() === before)))
"""
# What Safari has, and WebKitGTK only if it is asked for.
FEATURES = "FileSystem,StorageAPI,StorageAPIEstimate"
# What comes of asking too early, while a page is left or built anew, or a file renamed.
EARLY = (
    AssertionError, ElementClickInterceptedException, FileNotFoundError, InvalidElementStateException, JavascriptException, NoSuchElementException,
    StaleElementReferenceException,
)
SIZE = (1440, 860)
KEYS = {"Control": Keys.CONTROL, "Enter": Keys.ENTER, "Tab": Keys.TAB}


def programs() -> tuple[str, ...] | None:
    """WebKit's driver, its browser, and the server of a display without a screen."""
    driver, display = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
    # The browser is a part of the driver's package, and not in the path: /usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser
    browser = next(iter(sorted(glob.glob("/usr/lib/*/webkit*gtk-*/MiniBrowser") + glob.glob("/usr/libexec/webkit*gtk-*/MiniBrowser"))), None)
    return (driver, browser, display) if driver and browser and display else None


class Display:
    """A display without a screen."""

    def __init__(self):
        self.programs = programs()
        if not self.programs:
            pytest.skip("WebKit is not here: 'make test' installs the packages webkit2gtk-driver and xvfb on Debian and Ubuntu")
        reading, writing = os.pipe()
        arguments = [self.programs[2], "-displayfd", str(writing), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"]
        self.process = subprocess.Popen(arguments, pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        # It takes a free number, and tells it when it listens.
        with os.fdopen(reading) as number:
            self.name = ":" + number.readline().strip()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


class Browser:
    """A window of WebKit with files, downloads and storage of its own."""

    def __init__(self, display: Display, folder: pathlib.Path, address: str, has_scripts: bool = True):
        self.folder = folder
        (folder / "downloads").mkdir()
        (folder / "user-dirs.dirs").write_text(f'XDG_DOWNLOAD_DIR="{folder}/downloads"\n')
        environment = {"DISPLAY": display.name, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "NO_AT_BRIDGE": "1"}
        options = webdriver.WebKitGTKOptions()
        options.binary_location = display.programs[1]
        # A driver can ask a page without its scripts, too.
        for argument in ["--automation", f"--features={FEATURES}", f"--enable-javascript-markup={str(has_scripts).lower()}"]:
            options.add_argument(argument)
        # A process group of its own, to which WebKit's processes belong.
        self.service = Service(display.programs[0], log_output=str(folder / "log"), env=os.environ | environment, popen_kw={"start_new_session": True})
        try:
            self.service.start()
            connection = RemoteConnection(client_config=ClientConfig(remote_server_addr=self.service.service_url, timeout=60))
            self.driver = webdriver.Remote(connection, options=options, file_detector=UselessFileDetector())
            width, height = SIZE
            self.driver.set_window_rect(0, 0, width, height)
            # The window's bar is a part of its height.
            self.driver.set_window_rect(0, 0, width, 2 * height - self.driver.execute_script("return innerHeight"))
            self.page = Page(self, address)
        except BaseException:
            self._end()
            raise

    def stop(self):
        try:
            self.driver.quit()
        finally:
            self._end()

    def _end(self):
        if process := getattr(self.service, "process", None):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=60)


class Part:
    """Elements of a page: those that `find` finds now."""

    def __init__(self, page: "Page", find):
        self.page, self.driver, self.find = page, page.driver, find

    def locator(self, selector: str) -> "Part":
        return self._within(lambda scope: (scope or self.driver).find_elements(By.CSS_SELECTOR, selector))

    def get_by_role(self, role: str, name: str = "", exact: bool = False, level: int | None = None) -> "Part":
        selector = f"h{level}" if level else ROLES[role]

        def find(scope):
            seen = self.driver.execute_script(SEEN, scope, selector, name.lower())
            return [it for it in seen if not name or _matches(it.accessible_name, name, exact)]

        return self._within(find)

    def get_by_label(self, name: str, exact: bool = False) -> "Part":
        def find(scope):
            return [it for it in self.driver.execute_script(SEEN, scope, LABELED, name.lower()) if _matches(it.accessible_name, name, exact)]

        return self._within(find)

    def get_by_text(self, text: str) -> "Part":
        return self._within(lambda scope: self.driver.execute_script(WITH_TEXT, scope, text.lower()))

    def filter(self, has_text: str) -> "Part":
        return Part(self.page, lambda: [it for it in self.find() if has_text.lower() in _text(it).lower()])

    def nth(self, index: int) -> "Part":
        return Part(self.page, lambda: self.find()[index:][:1])

    @property
    def first(self) -> "Part":
        return self.nth(0)

    @property
    def last(self) -> "Part":
        return self.nth(-1)

    def count(self) -> int:
        return len(self.find())

    def inner_text(self) -> str:
        return self._try(lambda it: it.text)

    def all_inner_texts(self) -> list[str]:
        return [it.text for it in self.find()]

    def evaluate(self, function: str):
        return self._try(lambda it: self.driver.execute_script(f"return ({function})(arguments[0])", it))

    def evaluate_all(self, function: str, argument=None):
        # WebKit does not take elements in a list.
        return self.driver.execute_script(f"const [argument, ...them] = arguments; return ({function})(them, argument)", argument, *self.find())

    def click(self):
        def click(it):
            # The driver clicks in the middle of what is in the window, which a scroll bar may cover.
            self.driver.execute_script("arguments[0].scrollIntoView({ block: 'nearest', inline: 'nearest' })", it)
            assert self.driver.execute_async_script(STANDS_STILL, it), "it moves"
            it.click()

        self._try(click)
        self.page.on_click()

    def fill(self, text: str):
        self._try(lambda it: (it.clear(), it.send_keys(text)))

    def press_sequentially(self, text: str):
        self._try(lambda it: it.send_keys(text))

    def select_option(self, text: str):
        self._try(lambda it: Select(it).select_by_visible_text(text))

    def set_input_files(self, file: pathlib.Path):
        self._try(lambda it: it.send_keys(str(file)))

    def the_one(self):
        found = self.find()
        assert len(found) == 1, f"{len(found)} elements instead of one"
        return found[0]

    def _within(self, find) -> "Part":
        return Part(self.page, lambda: [it for scope in self.find() for it in find(scope)])

    def _try(self, action):
        """Does something with the only element as soon as it is there and can be reached."""
        results = []
        _until(lambda: results.append(action(self.the_one())) or True)
        return results[0]


class Page(Part):
    """The page in the window of a browser."""

    def __init__(self, browser: Browser, address: str):
        self.driver = browser.driver
        super().__init__(self, lambda: [None])
        self.browser, self.address, self.keyboard = browser, address, Keyboard(self.driver)
        self.on_click = lambda: None

    @property
    def url(self) -> str:
        return self.driver.current_url

    def goto(self, path: str):
        self.driver.get(self.address + path)

    def reload(self):
        self.driver.refresh()

    def wait_for_url(self, condition):
        _until(lambda: condition(self.url))

    @contextlib.contextmanager
    def expect_download(self):
        """Waits until a file is complete that was not there before."""
        folder = self.browser.folder / "downloads"
        before = set(folder.iterdir())
        download = Download()
        yield download

        def is_complete() -> bool:
            added = list(set(folder.iterdir()) - before)
            # Until then it is empty, and its bytes are in a file with another suffix.
            return len(added) == 1 and added[0].suffix != ".wkdownload" and added[0].stat().st_size > 0

        _until(is_complete)
        [download.file] = set(folder.iterdir()) - before


class Download:
    """A file that the browser wrote. Playwright returns it as a value."""

    file: pathlib.Path

    @property
    def value(self) -> "Download":
        return self

    def path(self) -> pathlib.Path:
        return self.file


class Keyboard:
    """Keys that go to the focused element."""

    def __init__(self, driver):
        self.driver = driver

    def press(self, key: str):
        *held, key = key.split("+")
        actions = ActionChains(self.driver)
        for name in held:
            actions.key_down(KEYS[name])
        actions.send_keys(KEYS.get(key, key.lower()))
        for name in held:
            actions.key_up(KEYS[name])
        actions.perform()

    def type(self, text: str):
        ActionChains(self.driver).send_keys(text.replace("\n", Keys.ENTER)).perform()


class Expected:
    """What is expected of a part: waits until it is so."""

    def __init__(self, part: Part):
        self.part = part

    def to_have_count(self, count: int):
        _until(lambda: self._is(count, self.part.count()))

    def to_have_text(self, text: str):
        _until(lambda: self._is(text, _text(self.part.the_one())))

    def to_contain_text(self, text: str):
        _until(lambda: self._has(text, _text(self.part.the_one())))

    def to_have_attribute(self, name: str, value: str):
        _until(lambda: self._is(value, self.part.the_one().get_dom_attribute(name)))

    def to_be_visible(self):
        _until(lambda: self.part.the_one().is_displayed())

    def to_be_checked(self):
        _until(lambda: self.part.the_one().is_selected())

    def to_be_focused(self):
        _until(lambda: self.part.the_one() == self.part.driver.switch_to.active_element)

    def to_be_in_viewport(self):
        _until(lambda: self.part.evaluate(f"it => {{ {IS_IN_VIEWPORT} }}"))

    @staticmethod
    def _is(expected, found) -> bool:
        assert expected == found, f"{found!r} instead of {expected!r}"
        return True

    @staticmethod
    def _has(expected: str, found: str) -> bool:
        assert expected in found, f"{found!r} without {expected!r}"
        return True


def expect(part):
    """Playwright's `expect` for the parts of pages in both browsers."""
    return Expected(part) if isinstance(part, Part) else playwright.sync_api.expect(part)


def _matches(name: str, wanted: str, exact: bool) -> bool:
    return name == wanted if exact else wanted.lower() in name.lower()


def _text(element) -> str:
    return " ".join((element.get_property("textContent") or "").split())


def _until(condition):
    failure = None

    def holds():
        nonlocal failure
        try:
            return condition()
        except EARLY as error:
            failure = error
            return False

    try:
        until(holds)
    except AssertionError as late:
        raise AssertionError(f"{late}: {type(failure).__name__} {getattr(failure, 'msg', failure)}") from None
