"""Sweeps: one verb over many settings and seeds, each point once.

    definition   what is asked for: verb, grid, seeds; resolved into cells
    axes, seeds  what is varied; which seeds, and when there are enough
    point        one thing to run, and its key
    verb, verbs  what can be run: a class each, a row each
    engine       threads of this process; `cluster`: the workers of a Dask cluster
    runner       what is missing is run, what is done is kept

A point is what it is: its key is the hash of that, so nothing is run twice, and a sweep that is
asked for again goes on where it was.
"""
