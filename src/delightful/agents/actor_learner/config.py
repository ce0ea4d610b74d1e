"""The settings of the actors, of their queue and of what makes them slow or stale on purpose."""

from dataclasses import dataclass

from delightful.lab.config import at_least, require


@dataclass(frozen=True)
class ActorLearnerConfig:
    """How many actors sample for one learner, and how."""

    actors: int = 10
    steps: int = 1000  # gradient steps
    batches: int = 10  # per gradient step
    queue: int = 10  # batches that wait while the learner is busy; of more, the oldest is dropped
    in_flight: int = 1  # calls under way at each actor; 2 hide Ray's round trip, at more staleness
    lag: int = 0  # actors get parameters that are at least this many versions old
    slow: tuple[tuple[int, float], ...] = ()  # actors and their speed, a fraction of the full one

    def check(self) -> None:
        """Raise ValueError if the values do not make a run."""
        at_least(1, self, "actors", "steps", "batches", "queue", "in_flight")
        at_least(0, self, "lag")
        names = [actor for actor, _ in self.slow]
        require(len({*names}) == len(names), "an actor has one speed", names)
        for actor, speed in self.slow:
            known = 0 <= actor < self.actors
            require(known, f"a slow actor must be one of 0 to {self.actors - 1}", actor)
            require(0 < speed <= 1, f"the speed of actor {actor} must be above 0, up to 1", speed)
