"""Another package, scikit-geometry, is imported as skgeom too."""

from pathlib import Path

from skgeom.utils._warnings import warn_user

# A file of scikit-geometry, and of no version of this package.
_ITS_FILE = "draw.py"


def warn_of_scikit_geometry(folder):
    """Warn if scikit-geometry is installed into this package's folder as well."""
    if Path(folder, _ITS_FILE).exists():
        warn_user(
            "The package scikit-geometry is installed in the same folder, "
            f"{folder}: it is imported as skgeom, too, and the one that was installed "
            "last has replaced files of the other. Uninstall both, and install them in "
            "environments of their own.",
            RuntimeWarning,
        )
