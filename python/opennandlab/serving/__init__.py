"""A simulated drive as a disk: what is served, where it comes from and where it goes afterwards.

`server` takes a drive from a device file or an image, serves it until it is told to end, and saves
it; `record` turns the record of its requests into formats of other programs; `recipes` knows how
such a disk is attached to a machine.
"""
