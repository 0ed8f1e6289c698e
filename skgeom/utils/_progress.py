"""How a fit goes on, told while it does: by scikit-learn's callbacks, and in print."""

from contextvars import ContextVar
from functools import partial, wraps
from threading import RLock
from time import monotonic

from skgeom.utils._arrays import like, moved, numbers_like
from skgeom.utils._sklearn import with_callbacks
from skgeom.utils._undo import all_or_nothing

# That of the fit in this thread. Functions for other threads must take it with them.
_CURRENT = ContextVar("_CURRENT", default=None)

# With verbose=1, lines about steps are at least so many seconds apart.
_SECONDS = 1.0


def shows_progress(method):
    """A fit that is all or nothing, and tells how it goes on.

    Inside, :func:`current_progress` is its :class:`FitProgress`.
    """

    @wraps(method)
    def fit(self, *args, **kwargs):
        progress = FitProgress(self)
        token = _CURRENT.set(progress)
        try:
            result = method(self, *args, **kwargs)
            progress.end()
            return result
        finally:
            _CURRENT.reset(token)

    return with_callbacks(all_or_nothing(fit))


def current_progress():
    """The :class:`FitProgress` of the fit that this thread is in, or a silent one."""
    return _CURRENT.get() or FitProgress(None)


class FitProgress:
    """Tells the callbacks of an estimator, and prints, how its fit goes on.

    A fit consists of stages, and a stage of steps. Both are tasks of the callbacks, if
    this scikit-learn knows them. If the parameter ``verbose`` is positive, a line is
    printed at the end of each stage, and about the steps in between, but only one a
    second unless ``verbose`` is larger than one, or there is one stage only, which has
    no name. Threads may share an object.

    Attributes
    ----------
    active : bool
        Whether anybody wants to know.
    """

    def __init__(self, estimator):
        self._verbose = int(getattr(estimator, "verbose", 0))
        callbacks = getattr(estimator, "_skl_callbacks", None)
        self.active = bool(callbacks or self._verbose)
        self._name = type(estimator).__name__
        self._common = {"estimator": estimator}
        self._lock = RLock()
        self._root = self._task = self._stage = self._line = None
        self._models = None
        self._printed = monotonic()

    def beside(self, X, y):
        """Have the callbacks given arrays of the library of X, and y as it is."""
        self._models = X, y

    def start(self, X=None, y=None):
        """Begin, unless it has begun, with the training data for the callbacks."""
        estimator = self._common["estimator"]
        if self._models is not None:
            X, y = map(numbers_like, (X, y), self._models)
        if self._root is None and hasattr(estimator, "_init_callback_context"):
            self._common |= {"X": X, "y": y}
            # How many stages there will be is not known.
            self._root = estimator._init_callback_context(max_subtasks=None)
            self._root.call_on_fit_task_begin(**self._common)

    def step(
        self,
        stage,
        said,
        attributes=None,
        *,
        n_steps=None,
        name="iteration",
        print_each=False,
    ):
        """Report a step; returns whether a callback asks to end the stage.

        Parameters
        ----------
        stage : str
            Name of the stage. Another one than before ends that. Empty if there is no
            other.
        said : str
            What is printed of the step.
        attributes : dict or callable, default=None
            The fitted attributes with which a copy of the estimator could be used as if
            the fit ended here, or a function that returns them.
        n_steps : int, default=None
            Largest number of steps of the stage, if that is known.
        name : str, default="iteration"
            What a step is.
        print_each : bool, default=False
            Whether each step of the stage has a line, and not only the last one. Those
            of a stage without a name have.
        """
        with self._lock:
            self.stage(stage, n_steps)
            self._n_steps += 1
            if stage and not print_each:
                steps = f"{self._n_steps} {name}" + "s" * (self._n_steps != 1)
                self._line = f"{stage}: {said} after {steps}"
                self.note(f"{stage}, {name} {self._n_steps}: {said}")
            else:
                self.print(f"{stage and stage + ', '}{name} {self._n_steps}: {said}")
            if self._task is None or self._n_steps > self._most_steps:
                return None
            task = self._task.subcontext(task_name=name)
            task.call_on_fit_task_begin(**self._common)
            if self._models is not None and attributes is not None:
                attributes = partial(self._placed, attributes)
            return task.call_on_fit_task_end(
                **self._common, reconstruction_attributes=attributes
            )

    def _placed(self, attributes):
        """Fitted attributes beside X."""
        found = attributes() if callable(attributes) else attributes
        return moved(found, partial(like, model=self._models[0]))

    def note(self, line):
        """Print a line, if ``verbose`` asks for it."""
        now = monotonic()
        if self._verbose > 1 or (self._verbose and now >= self._printed + _SECONDS):
            self.print(line)

    def print(self, line):
        """Print a line, if ``verbose`` is positive."""
        if self._verbose:
            self._printed = monotonic()
            print(f"[{self._name}] {line}", flush=True)

    def end(self):
        """Report the end of the fit; the estimator must be fitted by now."""
        self.end_stage()
        if self._root is not None:
            self._root.call_on_fit_task_end(
                **self._common, reconstruction_attributes={}
            )

    def end_stage(self):
        """End the stage, if there is one."""
        if self._line is not None:
            self.print(self._line)
        if self._task is not None:
            self._task.call_on_fit_task_end(**self._common)
        self._stage = self._task = self._line = None

    def stage(self, stage, n_steps=None):
        """Begin a stage, unless it is the one that goes on; see :meth:`step`."""
        if stage == self._stage:
            return
        self.end_stage()
        self._stage, self._n_steps = stage, 0
        self._most_steps = float("inf") if n_steps is None else n_steps
        if self._root is not None:
            self._task = self._root.subcontext(
                task_name=stage or "training", max_subtasks=n_steps
            )
            self._task.call_on_fit_task_begin(**self._common)
