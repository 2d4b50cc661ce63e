"""A headless browser for tests, one for all of them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--disable-dev-shm-usage',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--window-size=1200,800',
]
#: Seconds until something must have happened.
PATIENCE = 30


class Page:
    """An explorer in a browser.

    Args:
        driver: The driver of selenium.
    """

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """Opens a file and waits until all of it is shown."""
        self.driver.get_log('browser')  # of the page before
        self.driver.get(path.as_uri())
        self.wait('globalThis.explorer?.controls.times.field !== undefined')
        self.settle()

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: str) -> None:
        """Waits for a condition."""
        end = time.monotonic() + PATIENCE
        while not self.run(f'return !!({condition})'):
            assert time.monotonic() < end, f'never: {condition}'
            time.sleep(0.02)

    def settle(self) -> None:
        """Waits until routes and field are those of the query."""
        self.wait(
            '!explorer.controls.asked && explorer.controls.exact'
            ' && !explorer.controls.isChanged && !explorer.controls.field.job'
        )

    def text(self, selector: str) -> str:
        """The text of an element."""
        script = 'return document.querySelector(arguments[0]).textContent'
        return self.run(script, selector)

    def screen(self, width: int, height: int, touch: bool = False) -> None:
        """Makes the screen that of another device."""
        command = 'Emulation.setDeviceMetricsOverride'
        size = {'width': width, 'height': height, 'deviceScaleFactor': 1}
        self.driver.execute_cdp_cmd(command, {**size, 'mobile': touch})

    def point_of(self, node: int) -> tuple[float, float]:
        """Where a node is on the screen."""
        x, y = self.run(
            'const box = document.getElementById("stage")'
            '.getBoundingClientRect();'
            'const [x, y] = explorer.controls.view.pointOf(arguments[0]);'
            'return [x + box.left, y + box.top]',
            node,
        )
        return x, y

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Presses, moves or releases the mouse."""
        self.driver.execute_cdp_cmd(
            'Input.dispatchMouseEvent',
            {
                'type': f'mouse{kind}',
                'x': x,
                'y': y,
                'button': 'left',
                'buttons': 0 if kind == 'Released' else 1,
                'clickCount': 1,
            },
        )

    def drag(self, *nodes: int) -> None:
        """Drags from the first node over the others to the last."""
        self.mouse('Pressed', *self.point_of(nodes[0]))
        for node in nodes[1:]:
            self.mouse('Moved', *self.point_of(node))
        self.mouse('Released', *self.point_of(nodes[-1]))
        self.settle()

    def errors(self) -> list[Any]:
        """What the console has said since the page was opened."""
        return self.driver.get_log('browser')


def _start(folder: Path) -> Any:
    webdriver = pytest.importorskip(
        'selenium.webdriver', reason='selenium is not installed'
    )
    names = ('chromium', 'chromium-browser', 'google-chrome')
    browser = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which('chromedriver')
    if browser is None or driver is None:
        pytest.skip('chromium and chromedriver are not installed')
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in [*FLAGS, f'--user-data-dir={folder}']:
        options.add_argument(flag)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    service = webdriver.ChromeService(driver)
    return webdriver.Chrome(options=options, service=service)


def browser_page(folder: Path) -> Iterator[Page]:
    """Starts the browser and ends it; skips where there is none."""
    driver = _start(folder)
    try:
        yield Page(driver)
    finally:
        driver.quit()
