"""The store of runs: one file that keeps finished points, and tables of them.

    with Store.open() as store:
        store.add([entry, …])                     # one transaction
        store.known(keys)                         # what need not be run again
        store.rows(where=["waf>=2"]).frame()      # a table; no document is unpacked

Any number of processes use a store at once. It keeps what it is given: it knows nothing of what was
run, how, or what is drawn of it.
"""

from opennandlab.base.errors import StoreError, StoreWriteError
from opennandlab.store.entry import Added, Entry, key_of
from opennandlab.store.means import Means
from opennandlab.store.membership import KeptSweep, Outcome
from opennandlab.store.place import where_store
from opennandlab.store.rows import Rows
from opennandlab.store.store import Names, Store, open_store

__all__ = [
    "Added",
    "Entry",
    "KeptSweep",
    "Means",
    "Names",
    "Outcome",
    "Rows",
    "Store",
    "StoreError",
    "StoreWriteError",
    "key_of",
    "open_store",
    "where_store",
]
