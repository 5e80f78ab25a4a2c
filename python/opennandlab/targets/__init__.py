"""What can be measured: a simulated drive, a file, a block device, an NBD export.

Every kind answers the same few verbs of `base.Target`: purge, write-cache setting, one stimulus
until a limit, idle time. Tests know nothing else of a target, so each runs on all of them.
"""
