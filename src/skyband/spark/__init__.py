"""The pipeline on Spark: prune, maintain, unpack. The only room that imports PySpark."""

from importlib.util import find_spec

from skyband.errors import UnavailableError


def _is_there(module: str) -> bool:
    """Whether it could be imported; a package around it may be missing, too."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


for _module, _name in (("pyspark", "PySpark"), ("google.protobuf", "protobuf, which PySpark needs for its state,")):
    if not _is_there(_module):
        raise UnavailableError(
            f"this needs Spark, and {_name} is not installed",
            hint="pip install 'skyband[spark]'; a Monitor, skyband run --monitor and skyband demo --monitor need none",
        )
