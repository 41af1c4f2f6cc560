"""Run cells in a shell or kernel and find whatever they leave behind."""

import os
import tempfile
from contextlib import contextmanager

LEFT_BEHIND = """
import glob, os, sys as _sys, tempfile
from nbprof.capture.compat import switches as _switches
from tensorflow.python.client import session as _session
from tensorflow.python.eager.polymorphic_function import atomic_function as _atomic
from tensorflow.python import pywrap_tfe as _pywrap_tfe
from tensorflow.python.framework import constant_op as _constant_op
from tensorflow.python.profiler import trace as _trace
from tensorflow.python.profiler.internal import _pywrap_profiler
[
    _trace.enabled() if callable(_trace.enabled) else _trace.enabled,
    glob.glob(os.path.join(tempfile.gettempdir(), 'nbprof-*')),
    _switches.allocator_statistics_on(),
    _pywrap_profiler.ProfilerSession.__name__,
    _session.tf_session.TF_NewBufferFromString.__name__,
    _atomic.AtomicFunction.__init__.__name__,
    _pywrap_tfe.TFE_Py_FastPathExecute.__name__,
    _constant_op.convert_to_eager_tensor.__name__,
    get_ipython().custom_exceptions,
    round(_sys.getswitchinterval(), 4),
    __import__("tracemalloc").is_tracing(),
]
"""
NOTHING = str(
    [
        *(False, [], False, "ProfilerSession", "TF_NewBufferFromString", "__init__"),
        *("TFE_Py_FastPathExecute", "convert_to_eager_tensor", (), 0.005, False),
    ]
)


@contextmanager
def watched_place(kind, folder, first_cell):
    """Open a shell or a kernel with nbprof whose temporary files go to the folder."""
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    opened = kind()
    opened.run("%load_ext nbprof")
    opened.run(first_cell)
    yield opened
    opened.close()
    del os.environ["TMPDIR"]
    tempfile.tempdir = None
