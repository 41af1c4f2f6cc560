"""Fixtures shared by all tests."""

import os
import shutil

import pytest
from hypothesis import settings
from support.golden import Golden

# No Hypothesis example may fail because the machine is busy.
settings.register_profile("nbprof", deadline=None)
settings.load_profile("nbprof")

# On some processors TensorFlow runs oneDNN's kernels by default. All tests but test_onednn.py
# should see the same kernels everywhere; set TF_ENABLE_ONEDNN_OPTS=1 to run them with oneDNN.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*")


def pytest_collection_modifyitems(items):
    """Write the area of each core test into the report that `make matrix` reads."""
    for item in items:
        if mark := item.get_closest_marker("core"):
            (area,) = mark.args or ("programs",)
            item.user_properties.append(("area", area))


@pytest.fixture(scope="session", autouse=True)
def ipython_of_our_own(tmp_path_factory):
    """Isolate the tests' shells from the user's settings and history, and from each other."""
    before = os.environ.get("IPYTHONDIR")
    os.environ["IPYTHONDIR"] = str(tmp_path_factory.mktemp("ipython"))
    yield
    del os.environ["IPYTHONDIR"]
    if before is not None:
        os.environ["IPYTHONDIR"] = before


@pytest.fixture
def golden(request):
    return Golden(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def chromium():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    return found


@pytest.fixture
def figures_closed():
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def chrome(chromium):
    """A browser for the tests of one file."""
    from support.lab import browser

    with browser(chromium) as opened:
        yield opened
