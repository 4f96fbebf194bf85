"""Who audits the segments of a night: this process, several processes, or a cluster.

All of them are asked the same way, for one pure function of the inputs and the terms, so the answer does not depend on
which it was.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from analyzer.errors import UsageError

T = TypeVar("T")


class Workers(Protocol):
    """Gives the answers of some work, in whatever process."""

    jobs: int
    """How much is worth asking for at once."""

    def submit(self, work: Callable[..., T], /, *arguments: Any) -> Future[T]:
        """The answer, or what it failed with, when it is asked for."""

    def anew(self) -> None:
        """Begin with new processes, after one of them died."""


class Here(AbstractContextManager["Here"]):
    """This process."""

    jobs = 1

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def submit(self, work: Callable[..., T], /, *arguments: Any) -> Future[T]:
        """The answer at once."""
        future: Future[T] = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:  # noqa: BLE001 - as a process would give it back
            future.set_exception(error)
        return future

    def anew(self) -> None:
        """Nothing can have died that this would outlive."""


class Processes(AbstractContextManager["Processes"]):
    """Some processes of this machine."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        # spawn: a forked child of a process with Polars' threads may hang. Ctrl-C reaches all processes of a terminal:
        # this one answers it, and the others do not each print where they were.
        return ProcessPoolExecutor(
            self.jobs,
            mp_context=get_context("spawn"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),
        )

    def __exit__(self, *_: object) -> None:
        """Let them go."""
        self._pool.shutdown(cancel_futures=True)

    def submit(self, work: Callable[..., T], /, *arguments: Any) -> Future[T]:
        """The answer when a process has it; one that died fails everything that was under way."""
        signal.siginterrupt(signal.SIGINT, True)  # Polars hooks into it so that who waits for an answer is not woken
        try:
            return self._pool.submit(work, *arguments)
        except BrokenProcessPool:
            self.anew()
            return self._pool.submit(work, *arguments)

    def anew(self) -> None:
        """New processes."""
        self._pool = self._new()


class Cluster(AbstractContextManager["Cluster"]):
    """A Ray cluster: at an address, or one of its own on this machine. The store lies where all its machines see it.

    Ray asks again where a worker is lost: what a segment's folder already holds is written over with the same.
    """

    def __init__(self, address: str | None, jobs: int) -> None:
        """Raise UsageError where Ray is not installed or nothing answers at the address."""
        try:
            import ray
        except ImportError as error:
            raise UsageError("--engine ray needs Ray: install session-trace-analyzer[ray]") from error
        self._ray: Any = ray
        options: dict[str, Any] = {"address": address} if address else {"num_cpus": jobs, "include_dashboard": False}
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(f"no Ray cluster: {error}") from error
        self.jobs = max(jobs, int(self._ray.cluster_resources().get("CPU", jobs)))

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; one of our own ends with it."""
        self._ray.shutdown()

    def submit(self, work: Callable[..., T], /, *arguments: Any) -> Future[T]:
        """The answer when a worker of the cluster has it."""
        task = self._ray.remote(work).options(num_cpus=1, max_retries=3, name=work.__name__)
        future: Future[T] = task.remote(*arguments).future()
        return future

    def anew(self) -> None:
        """Ray replaces its workers itself."""


def workers(engine: str, *, jobs: int, address: str | None = None) -> Here | Processes | Cluster:
    """The workers of an engine: `processes` or `ray`."""
    if engine == "ray":
        return Cluster(address, jobs)
    return Processes(jobs) if jobs > 1 else Here()
