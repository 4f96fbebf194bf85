"""A real browser without a window, for pages that only a browser can judge."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage")
KEYS = {"Escape": Keys.ESCAPE, "Enter": Keys.ENTER, "Down": Keys.ARROW_DOWN, "Up": Keys.ARROW_UP, "End": Keys.END}


class Page:
    """One page in it."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, file: Path) -> None:
        """Load a file, as from a mail attachment."""
        self.driver.get("about:blank")
        self.complaints()  # another page's do not count
        self.driver.get(file.resolve().as_uri())
        self.until("return document.querySelectorAll('#tabs button').length === 5")

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script of the test and give what it returns."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> None:
        """Wait until a script returns something true."""
        WebDriverWait(self.driver, 60).until(lambda _: self.run(script))

    def press(self, *keys: str) -> None:
        """Type keys where the focus is."""
        for key in keys:
            ActionChains(self.driver).send_keys(KEYS.get(key, key)).perform()

    def click(self, selector: str) -> None:
        """Click the first element of a CSS selector."""
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def text(self, selector: str) -> str:
        """The visible text of the first element of a CSS selector."""
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def complaints(self) -> list[str]:
        """What the browser has to say of the page: errors, and what its policy refused."""
        logged = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [str(entry["message"]) for entry in logged]


@contextmanager
def browser() -> Iterator[Page]:
    """A browser; the test is skipped where there is none."""
    binary, driver = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no chromium with chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*_FLAGS, "--window-size=1360,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Page(chrome)
    finally:
        chrome.quit()
