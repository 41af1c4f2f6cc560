"""The environments nbprof is tested in, one entry each; `make matrix` and the docs read them."""

from dataclasses import dataclass

COLAB = (
    *("ipython==7.34.0", "ipykernel==6.17.1", "ipywidgets==7.7.1", "traitlets==5.7.1"),
    *("pandas==2.2.2; python_version < '3.13'", "numpy==2.0.2; python_version < '3.13'"),
    # The oldest that PyPI has wheels of for Python 3.13.
    *("pandas==2.2.3; python_version >= '3.13'", "numpy==2.1.0; python_version >= '3.13'"),
    "matplotlib==3.10.0",
)
"""What Colab has besides TensorFlow. Kaggle starts from an older image of Colab's; its own
versions were not looked up."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A host to try nbprof in: a Python and what is installed before nbprof comes."""

    name: str
    pythons: tuple[str, ...]
    """Versions to make it with, best first."""
    packages: tuple[str, ...]
    jointly: bool = False
    """Install nbprof in the same pip command: on its own it would bring pandas 3 and numpy 2.4,
    with which this TensorFlow cannot be imported."""


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment(
            name="colab",
            pythons=("3.12", "3.13", "3.11"),
            packages=(*COLAB, "tensorflow==2.20.0", "keras==3.13.2", "tf_keras==2.20.*"),
        ),
        Environment(
            name="kaggle",
            pythons=("3.12", "3.11"),
            packages=(*COLAB, "tensorflow==2.19.*", "tf_keras==2.19.*"),
        ),
        Environment(
            name="tf215",
            pythons=("3.11",),
            packages=("tensorflow==2.15.*", "tf_keras==2.15.*"),
            jointly=True,
        ),
        Environment(
            name="tf216",
            pythons=("3.12", "3.11"),
            packages=("tensorflow==2.16.*", "tf_keras==2.16.*"),
            jointly=True,
        ),
        Environment(
            name="tf217",
            pythons=("3.12", "3.11"),
            packages=("tensorflow==2.17.*", "tf_keras==2.17.*"),
            jointly=True,
        ),
        Environment(
            name="tf218",
            pythons=("3.11", "3.12"),
            packages=("tensorflow==2.18.*", "tf_keras==2.18.*"),
        ),
        Environment(
            name="tf220",
            pythons=("3.13", "3.12", "3.11"),
            packages=("tensorflow==2.20.*", "tf_keras==2.20.*"),
        ),
        Environment(
            name="tf221",
            pythons=("3.13", "3.12", "3.11"),
            packages=("tensorflow==2.21.*", "tf_keras==2.21.*"),
        ),
        Environment(
            name="tf222",
            pythons=("3.14", "3.13", "3.12"),
            packages=("tensorflow~=2.22.0rc0",),
        ),
        Environment(
            name="nightly",
            pythons=("3.14", "3.13", "3.12"),
            packages=("tf-nightly",),
        ),
    )
}
