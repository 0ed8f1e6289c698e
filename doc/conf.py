"""Configuration of Sphinx. Builds offline.

SKGEOM_DOC_ONLINE=1 adds outside links, and SKGEOM_DOC_LITE=1 a button to each page of
the gallery that runs it in the reader's browser, by JupyterLite.
"""

import importlib.metadata
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

import skgeom
from skgeom.datasets._files import local_file

sys.path.append(str(Path(__file__).parent))  # of _gallery

project = "skgeom"
author = "skgeom developers"
copyright = author
version = release = skgeom.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",  # formulas without the network
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build", "_templates", "_contents", "jupyterlite_contents"]
templates_path = ["_templates"]
default_role = "code"

# The guide of each public name, by its module or, in skgeom itself, by its own name.
GUIDES = {
    "skgeom.baselines": "baselines",
    "skgeom.datasets": "datasets",
    "skgeom.geometry": "distances",
    "skgeom.objectives": "distances",
    "skgeom.optim": "optimization",
    "skgeom.plotting": "plotting",
    "AMAGauss": "sqfa",
    "Calibration": "kernel_discriminant",
    "ClassStatistics": "large_data",
    "CovarianceHessianProjection": "covariance_hessian",
    "GLRSQ": "lvq",
    "GMLVQ": "lvq",
    "GaussianClassifier": "discriminant_analysis",
    "GaussianRegressor": "discriminant_analysis",
    "KernelDiscriminantAnalysis": "kernel_discriminant",
    "LandmarkKernelPCA": "nonlinear_sqfa",
    "PLRSQ": "lvq",
    "ProjectionConditions": "covariance_hessian",
    "RSLVQ": "lvq",
    "Recentering": "transfer",
    "RegionCovariance": "spd",
    "RejectionClassifier": "rejection",
    "SQFA": "sqfa",
    "SecondMomentSQFA": "sqfa",
    "Selection": "selection",
    "SeparationGrid": "covariance_hessian",
    "TransferDiscriminantAnalysis": "transfer",
    "accuracy_rejection_curve": "rejection",
    "activation_patterns": "transfer",
    "bayes_error": "n_filters",
    "input_hessian": "covariance_hessian",
    "make_domain_scorer": "transfer",
    "spatial_filters": "transfer",
}
autosummary_context = {"guides": GUIDES}
autosummary_generate = True
autodoc_typehints = "none"  # the types are in the docstrings
toc_object_entries_show_parents = "hide"  # fit(), not SQFA.fit(), next to the page
numpydoc_class_members_toctree = False  # a class and its methods share a page

if os.environ.get("SKGEOM_DOC_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "pymanopt": ("https://pymanopt.org/docs/stable", None),
    }

# Tutorials whose data cannot be downloaded. Without the files they have no output.
DATA_OF = {
    "motor_imagery": "bci_iv_2a_s1_to_s4.npz",
    "ssvep": "eeg_ssvep.npz",
    "transfer_sessions": "bci_iv_2a_s1_to_s4.npz",
}
NOT_RUN = [page for page, file in DATA_OF.items() if local_file(file) is None]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [
        f"../examples/{section}"
        for section in [
            "tutorials",
            "filters",
            "kernels",
            "spd",
            "classifiers",
            "scale",
            "theory",
        ]
    ],
    "within_subsection_order": "_gallery.order",
    "filename_pattern": rf"/plot_(?!({'|'.join(NOT_RUN) or ' '})\.py)",
    "image_scrapers": ("_gallery.scraper",),
    "reset_modules": ("matplotlib", "_gallery.set_style"),
    "doc_module": ("skgeom",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"skgeom": None},
    "write_computation_times": False,
    "parallel": True,  # as many pages at a time as the option -j of Sphinx
    "image_srcset": ["2x"],
    "thumbnail_size": (400, 280),
    "min_reported_time": 1e6,
    "remove_config_comments": True,
}

if os.environ.get("SKGEOM_DOC_LITE"):
    from _gallery import build_wheel

    extensions.append("jupyterlite_sphinx")
    sphinx_gallery_conf["jupyterlite"] = {
        "notebook_modification_function": "_gallery.prepare_notebook"
    }
    lite_folder = tempfile.TemporaryDirectory()  # until the end of the build
    jupyterlite_dir = lite_folder.name
    jupyterlite_build_command_options = {
        "piplite-wheels": str(build_wheel(jupyterlite_dir))
    }
    # The notebooks are where the buttons look for them, without pages and pictures.
    jupyterlite_contents = ["jupyterlite_contents/auto_examples"]
    jupyterlite_ignore_contents = [
        "^/jupyterlite_contents/",
        r"\.(rst|png|webp|svg|py|zip|json|md5|inc)$",
    ]

# The copy button leaves out the prompts, and what is printed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The examples call plt.show(), which has nothing to show while the pages are built.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
# Processes that run examples are replaced if their memory grows.
warnings.filterwarnings("ignore", message="A worker stopped while some jobs")

plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["skgeom.css"]
html_favicon = "_static/logo.svg"
html_title = "skgeom"
SOURCE = next(  # pyproject.toml sets the address
    url.partition(", ")[2]
    for url in importlib.metadata.metadata("skgeom").get_all("Project-URL")
    if url.startswith("Source")
)
# The backslash prevents a hyperlink, which the theme would shorten.
rst_epilog = ".. |repository| replace:: " + SOURCE.replace(":", r"\:", 1)
html_theme_options = {
    "github_url": SOURCE,
    "show_prev_next": False,
    "show_toc_level": 2,  # the methods of a class
    "logo": {
        "text": "skgeom",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
if "SKGEOM_DOC_URL" in os.environ:  # where the versions are published, side by side
    html_theme_options |= {
        "switcher": {
            "json_url": f"{os.environ['SKGEOM_DOC_URL']}/switcher.json",
            "version_match": "dev" if "dev" in release else release,
        },
        "check_switcher": False,  # the first time, there is none
        "navbar_start": ["navbar-logo", "version-switcher"],
    }
# Pages without others beside them.
SINGLE = ["changelog", "index"]
html_sidebars = {page: [] for page in SINGLE}
html_show_sourcelink = False


def setup(app):
    app.connect("autodoc-process-docstring", without_links_to_scikit_learn)
    # It only adds a folder of static files, but does not declare this.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True


def without_links_to_scikit_learn(app, what, name, obj, options, lines):
    """Inherited docstrings link to labels of scikit-learn's own documentation."""
    links = r":ref:`([^`<]+) <(accuracy|r2)_score>`"
    lines[:] = [re.sub(links, r"\1", line) for line in lines]
