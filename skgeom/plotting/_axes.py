"""Where displays are drawn, if they are not told."""


def new_axes(count=None):
    """Axes of a new figure: one, or an array of several."""
    import matplotlib.pyplot as plt

    width = 5 if count is None else 3.7 * count
    _, axes = plt.subplots(
        1,
        count or 1,
        figsize=(width, 3.6),
        layout="constrained",
        squeeze=count is None,
    )
    return axes if count is None else axes[0]
