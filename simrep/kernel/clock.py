"""The clock: simulated time, and the list of what will happen.

Generators (clients) and callbacks (deliveries, finished work) share one event list. Events at the
same instant run by priority and then in the order in which they were scheduled;
``docs/explanation/simultaneous-events.md`` states the whole policy.

An interpreted simrep has SimPy's environment, extended; a compiled one has a clock of its own, by
which SimPy's events and processes go, too. Whatever happens, happens in the same order by both.
"""

from __future__ import annotations

from simrep.kernel.build import COMPILED

if COMPILED:
    from simrep.kernel.native_clock import Clock, Event, PartClock, Process
else:
    from simpy.events import Event, Process

    from simrep.kernel.simpy_clock import Clock, PartClock

__all__ = ["Clock", "Event", "PartClock", "Process"]
