"""A real Jupyter server with JupyterLab and Notebook 7, and a real Chromium."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat

BROWSER_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

PATIENCE = 300
"""Seconds to wait for a condition before a test fails; a busy machine may need most of them."""

SETTINGS = {
    # A dialog with news would cover the notebook.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # Saving twice at once ends in a dialog that waits for an answer.
    "docmanager-extension/plugin": {"autosave": False},
}
"""Settings of JupyterLab, by plugin."""


def write_notebook(path: Path, *cells: str) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)


@contextmanager
def server(folder: Path):
    """Serve `folder` with settings of its own; yield the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    private = folder / ".jupyter"
    variables = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(private / name) for name in variables}}
    environment["JUPYTERLAB_SETTINGS_DIR"] = str(_write_settings(private / "settings"))
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"),
        *("--IdentityProvider.token=", "--ServerApp.password=", "--expose-app-in-browser"),
        *("--ServerApp.disable_check_xsrf=True", f"--ServerApp.root_dir={folder}"),
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api", process)
        yield address
    finally:
        _end(process)
        log.close()


def _end(process: subprocess.Popen) -> None:
    """End a server, by force if it takes too long: JupyterLab may wait forever."""
    process.terminate()
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _write_settings(folder: Path) -> Path:
    for plugin, values in SETTINGS.items():
        file = folder / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(values), encoding="utf-8")
    return folder


def _wait_for(address: str, process: subprocess.Popen) -> None:
    """Wait until the server answers; raise if it ends or takes too long."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.2)
        else:
            return
    raise RuntimeError("JupyterLab did not start; server.log in its folder says why")


class PatientBrowser:
    """A browser whose pages wait for PATIENCE seconds."""

    def __init__(self, opened):
        self._opened = opened

    def new_context(self, **options):
        context = self._opened.new_context(**options)
        context.set_default_timeout(PATIENCE * 1000)
        return context

    def new_page(self, **options):
        page = self._opened.new_page(**options)
        page.set_default_timeout(PATIENCE * 1000)
        return page


@contextmanager
def browser(executable: str):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
        try:
            yield PatientBrowser(opened)
        finally:
            opened.close()
