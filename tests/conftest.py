"""Fixtures shared by all tests."""

import shutil

import pytest
from golden import Golden
from hypothesis import settings

# This machine may be busy: no example fails for being slow.
settings.register_profile("nbprof", deadline=None)
settings.load_profile("nbprof")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*")


@pytest.fixture
def golden(request):
    return Golden(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def chromium():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    return found
