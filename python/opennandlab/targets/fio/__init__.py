"""Stimuli through fio: real requests on a file, a block device or an NBD export.

    Stimulus, Limit --> job: text of a job file --> runner: fio, watched --> parse: Measurement

Job file and output of every piece stay in the folder of the run, so that any of them can be run
again by hand. `base.FioTarget` joins the three; the kinds of target add what they are.
"""
