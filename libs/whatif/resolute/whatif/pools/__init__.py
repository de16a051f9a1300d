"""What if: the arrivals a cluster remembers, played against another policy, another pool, other weights.

`recording` reads them from the log, `simulate` plays them with the scheduler's own decisions on a made-up clock,
`measures` says how it went, `report` says it to people. `shell` is the file that awaits.
"""

from resolute.whatif.pools.measures import Measures, Outcome, Ran, measure
from resolute.whatif.pools.recording import After, Change, Recording, Work, read
from resolute.whatif.pools.simulate import whatif

__all__ = ["After", "Change", "Measures", "Outcome", "Ran", "Recording", "Work", "measure", "read", "whatif"]
