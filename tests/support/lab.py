"""A real Jupyter server with JupyterLab and Notebook 7, and a real Chromium."""

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
    environment["JUPYTERLAB_SETTINGS_DIR"] = _quiet_settings(private)
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


def _quiet_settings(private: Path) -> str:
    """Write settings that turn off news, whose dialog would cover the notebook."""
    settings = private / "settings"
    file = settings / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    file.parent.mkdir(parents=True)
    file.write_text('{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8")
    return str(settings)


def _wait_for(address: str, process: subprocess.Popen) -> None:
    """Wait until the server answers; raise if it ends or takes too long."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.2)
        else:
            return
    raise RuntimeError("JupyterLab did not start; server.log in its folder says why")


@contextmanager
def browser(executable: str):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
        try:
            yield opened
        finally:
            opened.close()
