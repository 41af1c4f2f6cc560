"""The names of what a line of the user's calls in installed packages."""

import pytest

from nbprof.library_frames import called, is_wrapper, package_of

SITE = "/usr/lib/python3/site-packages"
STANDARD = "/usr/lib/python3.11"


@pytest.mark.parametrize(
    ("file", "package"),
    [
        (f"{SITE}/pandas/core/frame.py", "pandas"),
        (f"{SITE}/six.py", "six"),
        ("/usr/lib/python3/dist-packages/numpy/lib/io.py", "numpy"),
        (r"C:\env\Lib\site-packages\keras\src\models\model.py", "keras"),
        (f"{STANDARD}/json/__init__.py", "json"),
        (f"{STANDARD}/json/decoder.py", "json"),
        (f"{STANDARD}/threading.py", "threading"),
        (f"{STANDARD}/concurrent/futures/thread.py", "concurrent.futures"),
        (r"C:\Python311\Lib\xml\etree\ElementTree.py", "xml.etree"),
        ("/opt/python311.zip/csv.py", "csv"),
        ("<frozen importlib._bootstrap>", "importlib"),
        ("<frozen posixpath>", "posixpath"),
        ("<__array_function__ internals>", "numpy"),
    ],
)
def test_a_file_belongs_to_a_package(file, package):
    assert package_of(file) == package


FIT = (f"{SITE}/keras/src/trainer.py", "fit")
KERAS_HANDLER = (f"{SITE}/keras/src/utils/traceback_utils.py", "error_handler")
HANDLER = (f"{SITE}/tensorflow/python/util/traceback_utils.py", "error_handler")
DISPATCH = (f"{SITE}/tensorflow/python/util/dispatch.py", "op_dispatch_handler")
ADD = (f"{SITE}/tensorflow/python/ops/math_ops.py", "add")
FIND = ("<frozen importlib._bootstrap>", "_find_and_load")
INIT = (f"{SITE}/pandas/__init__.py", "<module>")


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ([FIT], "keras: fit"),
        ([KERAS_HANDLER, FIT, HANDLER, ADD], "keras: fit"),
        ([HANDLER, DISPATCH, ADD], "tensorflow: add"),
        ([HANDLER], ""),
        ([(f"{STANDARD}/contextlib.py", "__enter__")], ""),
        ([FIND, FIND], "import"),
        ([FIND, INIT, ADD], "import: pandas"),
        ([], ""),
    ],
)
def test_library_frames_are_named_after_what_the_users_line_calls(frames, name):
    assert called(frames, None) == name


def test_the_import_of_a_module_of_the_users_is_named_after_it():
    assert called([FIND], ("/home/me/tools.py", "<module>")) == "import: tools"


def test_a_function_that_wraps_others_is_known_by_its_name_in_any_package():
    assert is_wrapper(f"{SITE}/other/core.py", "wrapper")
    assert not is_wrapper(f"{SITE}/other/core.py", "wrap_around")
