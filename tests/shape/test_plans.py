from __future__ import annotations

import gc
import sys

from toolpulse.shape import Walker


class TestCaches:
    CANARY = "canary-7f3a"

    def test_no_key_of_a_map_is_kept(self):
        """Keys of maps are data; the walk must forget them with the response."""
        walker = Walker(maps=["named"])
        for n in range(50):
            walker.observe(
                {
                    "named": {f"{self.CANARY} {n}": {"a": 1}},
                    "mails": {f"{self.CANARY}{n}@example.com": [n]},
                    "wide": {f"{self.CANARY}/{n}/{m}": {"b": {}} for m in range(257)},
                    "tuples": {(self.CANARY, n): 1},
                }
            )
        plain = Walker()
        plain.observe({f"{self.CANARY}{n}@example.com": {"a": n} for n in range(10)})
        for found in (walker, plain):
            assert not [word for word in reachable(found) if isinstance(word, str) and self.CANARY in word]

    def test_plans_are_bounded(self):
        """A tool whose keys change all the time must not fill the memory, whether or not they look like data."""
        walker = Walker()
        for n in range(5_000):
            walker.observe({f"a{n}b": 1, f"c{n}d": [1], "e": {"f": n}})
        assert len(walker._plans.known) <= 4096
        for n in range(3_000):
            walker.observe({"same": [{f"x{n}y": 1}]})
        assert all(len(plan.shapes) <= 512 for plan in walker._plans.known.values())


def reachable(thing):
    """Everything of the library's caches that can be reached from an object, classes and modules left out."""
    seen, waiting = {}, [thing]
    while waiting:
        here = waiting.pop()
        if id(here) in seen or isinstance(here, type | type(sys) | type(reachable)):
            continue
        seen[id(here)] = here
        waiting.extend(gc.get_referents(here))
    return seen.values()
