"""The standard tests, a file each."""
