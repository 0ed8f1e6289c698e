"""Progress of fits: printed lines, and the callbacks of scikit-learn."""

from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import RLock
from time import monotonic

# The progress of the fit in this thread. Most steps are reported deep inside
# optimizations and selections, whose functions would otherwise all need one more
# parameter. Code that starts threads must pass it to them.
_CURRENT = ContextVar("_CURRENT", default=None)

# Minimum time in seconds between printed lines about steps with verbose=1.
_SECONDS = 1.0

# Attributes that scikit-learn requires to end its callbacks after a fit, and removes.
_OF_CALLBACKS = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


@contextmanager
def training(estimator):
    """Context of a fit. Reports progress, and restores the estimator after errors."""
    before = vars(estimator).copy()
    progress = FitProgress(estimator)
    token = _CURRENT.set(progress)
    try:
        yield
        if progress.active:
            progress.end()
    except BaseException:
        kept = {k: v for k, v in vars(estimator).items() if k in _OF_CALLBACKS}
        vars(estimator).clear()
        vars(estimator).update(before | kept)
        raise
    finally:
        _CURRENT.reset(token)


def current_progress():
    """The :class:`FitProgress` of the current fit, or an inactive one without a fit."""
    return _CURRENT.get() or FitProgress()


class FitProgress:
    """Reports the progress of a fit to the callbacks of the estimator, and prints it.

    A fit consists of stages, and a stage consists of steps. Stages and steps are tasks
    of the callbacks, if this version of scikit-learn has callbacks. If the parameter
    ``verbose`` is positive, lines are printed at the end of each stage, and for steps.
    With ``verbose=1``, the steps of a stage with a name print at most one line per
    second. Threads may share an object.

    Attributes
    ----------
    active : bool
        Whether progress is printed or reported to callbacks.
    """

    def __init__(self, estimator=None):
        self._verbose = int(getattr(estimator, "verbose", 0))
        callbacks = getattr(estimator, "_skl_callbacks", None)
        self.active = bool(callbacks or self._verbose)
        self._name = type(estimator).__name__
        # The method that creates the task of the fit for the callbacks.
        self._begin = getattr(estimator, "_init_callback_context", None)
        self._common = {"estimator": estimator}
        self._lock = RLock()
        self._root = self._task = self._stage = self._line = None
        self._convert = None
        self._printed = monotonic()

    def set_conversion(self, data, attributes):
        """Convert X and y, and a dict of fitted attributes, before callbacks get them.

        Both arguments are functions.
        """
        self._convert = data, attributes

    def start(self, X=None, y=None):
        """Begin the task of the fit, with training data, unless it has begun."""
        if not self.active:
            return
        if self._convert is not None:
            X, y = self._convert[0](X, y)
        if self._root is None and self._begin is not None:
            self._common |= {"X": X, "y": y}
            # The number of stages is unknown.
            self._root = self._begin(max_subtasks=None)
            self._root.call_on_fit_task_begin(**self._common)

    def step(
        self,
        stage,
        message,
        attributes=None,
        *,
        n_steps=None,
        name="iteration",
    ):
        """Report a step. Returns whether a callback requests the end of the stage.

        Parameters
        ----------
        stage : str
            Name of the stage. A new name ends the previous stage. Empty if the fit has
            only one stage.
        message : str
            The printed description of the step.
        attributes : dict or callable, default=None
            The fitted attributes that the estimator would have if the fit ended after
            this step, or a function that returns them.
        n_steps : int, default=None
            Largest number of steps of the stage; None if unknown.
        name : str, default="iteration"
            The printed name of a step.
        """
        if not self.active:
            return None
        with self._lock:
            self.stage(stage, n_steps)
            self._n_steps += 1
            if stage:
                steps = f"{self._n_steps} {name}" + "s" * (self._n_steps != 1)
                self._line = f"{stage}: {message} after {steps}"
                self.note(f"{stage}, {name} {self._n_steps}: {message}")
            else:
                self.print(f"{name} {self._n_steps}: {message}")
            if self._task is None or self._n_steps > self._most_steps:
                return None
            task = self._task.subcontext(task_name=name)
            task.call_on_fit_task_begin(**self._common)
            if self._convert is not None and attributes is not None:
                attributes = partial(self._converted, attributes)
            return task.call_on_fit_task_end(
                **self._common, reconstruction_attributes=attributes
            )

    def _converted(self, attributes):
        found = attributes() if callable(attributes) else attributes
        return self._convert[1](found)

    def note(self, line):
        """Print a line. With ``verbose=1``, print at most one such line per second."""
        now = monotonic()
        if self._verbose > 1 or (self._verbose and now >= self._printed + _SECONDS):
            self.print(line)

    def print(self, line):
        """Print a line if ``verbose`` is positive."""
        if self._verbose:
            self._printed = monotonic()
            print(f"[{self._name}] {line}", flush=True)

    def end(self):
        """Report the end of the fit. The estimator must be fitted."""
        self.end_stage()
        if self._root is not None:
            self._root.call_on_fit_task_end(
                **self._common, reconstruction_attributes={}
            )

    def end_stage(self):
        """End the current stage, if there is one."""
        if self._line is not None:
            self.print(self._line)
        if self._task is not None:
            self._task.call_on_fit_task_end(**self._common)
        self._stage = self._task = self._line = None

    def stage(self, stage, n_steps=None):
        """Begin a stage, unless it is the current one; see :meth:`step`."""
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
