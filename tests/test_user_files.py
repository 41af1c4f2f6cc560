import os
import sysconfig

import pytest

from nbprof.user_files import is_users, is_users_code

INSTALLED = (
    "/usr/local/lib/python3.12/dist-packages/keras/src/layers/layer.py",
    "/usr/lib/python3/dist-packages/numpy/core/numeric.py",
    r"C:\Python311\Lib\site-packages\keras\src\engine\base_layer.py",
    "/opt/conda/lib/python3.11/site-packages/transformers/trainer.py",
    "/home/me/project/.venv/lib/python3.11/site-packages/optree/ops.py",
    "/home/me/.local/lib/python3.11/site-packages/my_package/model.py",
    "/usr/lib/python3.11/threading.py",
    "/opt/conda/lib/python3.13t/concurrent/futures/thread.py",
    "/usr/lib/python311.zip/json/decoder.py",
    "/tmp/__autograph_generated_file1a2b3c4d.py",
    "<frozen runpy>",
)
OF_THE_USER = (
    "In [4]",
    "/tmp/ipykernel_123/456.py",
    "<ipython-input-3-0f1e2d3c4b5a>",
    "train.py",
    "/usr/src/app/train.py",
    "/home/me/keras/my_model.py",
    "/home/me/tf-keras/tf_keras/src/layers/core/dense.py",
    "/home/me/tensorflow/tensorflow/python/ops/math_ops.py",
    "/home/me/lib/model.py",
    "/home/me/my-site-packages/model.py",
)


@pytest.mark.parametrize("file", INSTALLED)
def test_a_file_where_packages_are_installed_is_not_the_users(file):
    assert not is_users(file)


@pytest.mark.parametrize("file", OF_THE_USER)
def test_any_other_file_is_the_users_whatever_its_name(file):
    assert is_users(file)


def test_the_library_of_this_python_is_not_the_users():
    assert not is_users(os.__file__)
    assert not is_users(f"{sysconfig.get_paths()['scripts']}{os.sep}jupyter")
    assert not is_users(pytest.__file__)


def test_the_tests_themselves_are_the_users():
    assert is_users(__file__)


def test_code_without_a_file_belongs_to_the_file_whose_names_it_uses():
    code = compile("1", "<string>", "exec")

    assert is_users_code(code, {})
    assert is_users_code(code, {"__file__": "/home/me/train.py"})
    assert not is_users_code(code, {"__file__": os.__file__})
    assert is_users_code(compile("1", "/home/me/train.py", "exec"), {"__file__": os.__file__})
