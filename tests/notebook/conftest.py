"""Fixtures shared by the tests that drive a browser."""

import pytest
from lab import browser


@pytest.fixture(scope="module")
def chrome(chromium):
    with browser(chromium) as opened:
        yield opened
