"""Whether the torch that is installed is the one that the library was built for."""
from ._built_for import TORCH


def check_torch() -> None:
    """Imports torch, whose libraries the bindings then find loaded. Raises ImportError if it is another version."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"quench needs torch {TORCH}, which is not installed: pip install torch=={TORCH}") from None
    installed = torch.__version__.split("+")[0]
    if installed != TORCH:
        raise ImportError(f"this quench was built for torch {TORCH}, but torch {torch.__version__} is installed: "
                          f"pip install torch=={TORCH}, or build quench for the other one (tools/build-wheel)")
