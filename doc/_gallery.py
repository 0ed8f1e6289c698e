"""What the gallery has beyond sphinx-gallery: order, animations, pages in a browser."""

import io
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import Animation, PillowWriter
from matplotlib.colors import is_color_like, to_rgb, to_rgba, to_rgba_array
from PIL import Image
from sphinx_gallery.notebook import add_code_cell
from sphinx_gallery.scrapers import matplotlib_scraper

import skgeom

ROOT = Path(__file__).parents[1]
# Packages that are not those of skgeom itself, and what tells that a page needs them.
EXTRAS = {
    "import chemotools": "chemotools",
    "import dask": "dask",
    "import mne": "mne",
    "import plot_topomap": "mne",
    "import pyarrow": "pyarrow",
}

# Colours of text and background of figures on dark pages.
DARK_TEXT, DARK_PAGE = (0.87, 0.89, 0.93), to_rgb("#14181e")
# Colours of marks that have little contrast to dark pages, and their replacements.
LIGHTER = {
    "tab:blue": "#62abe6",
    "tab:red": "#f26d6d",
    "tab:purple": "#b999de",
    "tab:brown": "#bd8d80",
    "tab:gray": "#a9adb4",
    "crimson": "#f26d6d",
}
ON_DARK = {to_rgb(name): to_rgb(other) for name, other in LIGHTER.items()}

# The pages that come first in their section, in this order.
FIRST = [
    "plot_tabular.py",
    "plot_spectra.py",
    "plot_mnist.py",
    "plot_ssvep.py",
    "plot_motor_imagery.py",
    "plot_transfer_sessions.py",
    "plot_explain_network.py",
    "plot_reject_cost.py",
    "plot_digits.py",
    "plot_speed_videos.py",
    "plot_linear_baselines.py",
    "plot_sqfa_toys.py",
    "plot_metrics.py",
    "plot_geometry.py",
    "plot_datasets.py",
]


def order(name):
    """Sort key of the pages of a section."""
    return FIRST.index(name) if name in FIRST else len(FIRST), name


def set_style(gallery_conf, name):
    """The style of all figures of the gallery, set before each page."""
    plt.rcParams.update(
        {
            "axes.spines.right": False,
            "axes.spines.top": False,
            "font.size": 11,
            "legend.frameon": False,
        }
    )


class FewColours(PillowWriter):
    """Writer of animations in 64 colours, which take a third of the space."""

    def finish(self):
        last = self._frames[-1].convert("RGB").quantize(64)
        first, *others = (
            frame.convert("RGB")
            .quantize(palette=last, dither=Image.Dither.NONE)
            .convert("RGB")
            for frame in self._frames
        )
        first.save(
            self.outfile,
            save_all=True,
            append_images=others,
            duration=int(1000 / self.fps),
            loop=0,
            lossless=True,
        )


def recolour(figure):
    """Exchange the colours of a figure for colours with contrast to dark pages."""
    for artist in figure.findobj():
        if getattr(artist, "get_array", lambda: None)() is not None:
            continue  # the colours of a map
        for name in ["color", "facecolor", "edgecolor", "markerfacecolor"]:
            value = getattr(artist, f"get_{name}", lambda: None)()
            if value is not None and is_color_like(value):
                getattr(artist, f"set_{name}")(on_dark(to_rgba(value), name))
            elif isinstance(value, np.ndarray) and len(value):  # of a collection
                colours = [on_dark(tuple(one), name) for one in to_rgba_array(value)]
                getattr(artist, f"set_{name}")(colours)


def on_dark(colour, name):
    """The colour of a property of artists on dark pages."""
    *rgb, alpha = colour
    others = {(0.0, 0.0, 0.0): DARK_TEXT, **ON_DARK}
    if name == "facecolor":
        others[1.0, 1.0, 1.0] = DARK_PAGE
    return (*others.get(tuple(rgb), rgb), alpha) if alpha else colour


def with_dark_variants(rst):
    """Show a figure on light pages, and its dark variant on dark ones."""

    def both(found):
        light = textwrap.indent(found[0], "   ")
        dark = re.sub(r"(_\d{3})(_2_00x)?\.png", r"\1_dark\2.png", light)
        dark = dark.replace(":class:", ":class: dark-light")  # no filter of the theme
        return "".join(
            f"{found[1]}.. div:: only-{theme}\n\n{image}\n"
            for theme, image in [("light", light), ("dark", dark)]
        )

    pattern = r"^( *)\.\. image-sg:: .*\n(?:\1 +:.*\n)+"
    return re.sub(pattern, both, rst, flags=re.MULTILINE)


def settings_of(path):
    """Alternative texts of the figures of a page, and the number of its thumbnail.

    Each figure has a comment with its text, ``sphinx_gallery_alt``, before it is shown.
    A thumbnail number of 203 is panel 3 of figure 2.
    """
    source = Path(path).read_text(encoding="utf-8")
    texts = re.findall(r'^# sphinx_gallery_alt = "(.+)"$', source, re.MULTILINE)
    number = re.search(r"^# sphinx_gallery_thumbnail_number = (\d+)$", source, re.M)
    return texts, int(number[1]) if number else 1


def save_panel(figure, number, path):
    """Save one of the axes of a figure, with its title and labels, as a thumbnail."""
    whole = io.BytesIO()
    figure.savefig(whole, dpi=2 * figure.dpi)
    box = figure.axes[number].get_tightbbox().padded(5)
    place = 2 * box.x0, 2 * (figure.bbox.y1 - box.y1)
    with Image.open(whole) as picture:
        end = place[0] + 2 * box.width, place[1] + 2 * box.height
        picture.crop((*place, *end)).save(path)


def scraper(block, block_vars, gallery_conf):
    """Save the figures of a block of code, in light and dark, animated ones as WebP.

    sphinx-gallery itself embeds animations as JavaScript with all frames, or as videos.
    """
    texts, thumbnail = settings_of(block_vars["src_file"])
    paths = block_vars["image_path_iterator"]
    figures = [plt.figure(number) for number in plt.get_fignums()]
    moving = []
    for animation in block_vars["example_globals"].values():
        if isinstance(animation, Animation) and animation._fig in figures:
            place = len(paths) + figures.index(animation._fig) + 1
            still = Path(paths.image_path.format(place))
            writer = FewColours(fps=1000 / animation._interval)
            animation.save(still.with_suffix(".webp"), writer, dpi=160)
            moving.append(still)
    places = [len(paths) + k + 1 for k in range(len(figures))]
    names = [paths.image_path.format(place) for place in places]
    rst = matplotlib_scraper(block, block_vars, gallery_conf)
    for figure, place, name in zip(figures, places, map(Path, names), strict=True):
        rst = re.sub(
            rf"({re.escape(name.name)}\n +:alt:).*", rf"\1 {texts[place - 1]}", rst
        )
        if thumbnail // 100 == place:
            panel = paths.image_path.format(thumbnail)
            save_panel(figure, thumbnail % 100, panel)
        recolour(figure)
        for size, end in [(1, ""), (2, "_2_00x")]:  # as in image_srcset of conf.py
            path = name.with_stem(f"{name.stem}_dark{end}")
            figure.savefig(path, dpi=size * figure.dpi)
    for still in moving:  # it shows the last frame, for thumbnails and guides
        name = re.escape(still.name)
        rst = re.sub(
            rf"image-sg:: (\S*){name}((?:\n   :\w+: .*)*?)\n   :srcset: .*",
            rf"image:: \1{still.stem}.webp\2",
            rst,
        )
    return with_dark_variants(rst)


def build_wheel(folder):
    """Build the wheel of skgeom, for pages in a browser, and return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(Path(folder).glob("skgeom-*.whl"))


def prepare_notebook(notebook, path):
    """Let a page that runs in a browser install what it needs, first of all."""
    source = "".join("".join(cell["source"]) for cell in notebook["cells"])
    extras = [package for sign, package in EXTRAS.items() if sign in source]
    packages = " ".join([f"skgeom=={skgeom.__version__}", *extras])
    add_code_cell(notebook, f"%pip install -q {packages}")
    notebook["cells"].insert(0, notebook["cells"].pop())
