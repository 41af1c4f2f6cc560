"""Write the files that other profilers make of `program.py`, beside it.

Run `python make_files.py TOOLS PYTHON …`: TOOLS is the folder of the programs of an environment
with py-spy and pyinstrument, each PYTHON an interpreter whose cProfile is to be used. py-spy must
be allowed to trace processes.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PROFILE = """\
import cProfile, sys
import program
profiler = cProfile.Profile()
profiler.runcall(program.main)
version = "%d.%d" % sys.version_info[:2]
profiler.dump_stats("cprofile-%s.prof" % version)
"""


PYINSTRUMENT = """\
import pathlib
import program
from pyinstrument import Profiler
from pyinstrument.renderers import SpeedscopeRenderer
with Profiler(interval=0.001) as profiler:
    program.main()
written = SpeedscopeRenderer().render(profiler.last_session)
pathlib.Path("pyinstrument.speedscope.json").write_text(written)
"""
RUN_IN = Path(tempfile.gettempdir()) / "profiled"
"""Where the program runs; the files have its path."""


def run(*command):
    subprocess.run(command, cwd=RUN_IN, check=True)


def main(tools, *interpreters):
    tools = Path(tools)
    RUN_IN.mkdir()
    shutil.copy(HERE / "program.py", RUN_IN)
    for interpreter in interpreters:
        run(interpreter, "-B", "-c", PROFILE)
    python = str(tools / "python")
    for form, file in (("speedscope", "py-spy.speedscope.json"), ("raw", "py-spy.collapsed")):
        run(tools / "py-spy", "record", "-f", form, "-o", file, "--", python, "program.py")
    run(python, "-B", "-c", PYINSTRUMENT)
    for form in ("prof", "json", "collapsed"):
        for file in RUN_IN.glob(f"*.{form}"):
            shutil.copy(file, HERE)
    shutil.rmtree(RUN_IN)


if __name__ == "__main__":
    main(*sys.argv[1:])
