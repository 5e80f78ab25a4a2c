"""Two drives, 90 % and 4 %: sequential writes before and after random ones.

A published pair of measurements ("What's up with these numbers?", E. Spanjer) has one drive that
goes from 172.5 to 16.8 MB/s and one that goes from 118.3 to 113.3. Two devices that behave so show
what it takes. After the random writes both have to move old pages for every new one. The first,
with thin spare area, programs nine pages for one while the host waits. The second programs three,
has three times more flash than its controller lets through, and a buffer in which writes wait while
a die collects. Take one of these away, and it drops too.
"""

from pathlib import Path

from opennandlab.pts import TESTS, Settings, run_test
from opennandlab.targets.simulated import SimulatedTarget

FOLDER = Path(__file__).parent
DRIVES = (
    ("thin spare area, no buffer", "workload_dependent.yaml", {}),
    ("spare flash and a buffer", "workload_independent.yaml", {}),
    ("  without the buffer", "workload_independent.yaml", {"ftl.write_buffer_pages": 0}),
    ("  a quarter of the dies", "workload_independent.yaml", {"nand.dies_per_channel": 1}),
    ("  7 % of spare area", "workload_independent.yaml", {"ftl.over_provisioning_pct": 0.07}),
)

print(f"{'drive':28}  first   third MB/s   drop  WAF of the third")
for name, device, changes in DRIVES:
    target = SimulatedTarget(FOLDER / device, changes)
    found = run_test(TESTS["independence"], target, settings=Settings(cache="enabled"))
    results, table = found.results, found.tables[0]
    print(
        f"{name:28} {results.first_mb_s:6.1f}  {results.third_mb_s:6.1f}  "
        f"{results.drop_pct:7.1f} %  {table.values[2][2]:16.1f}"
    )
    target.close()
