"""What every room stands on: errors, files, numbers in canonical form, threads.

Nothing here knows a drive, a document or a test.
"""
