"""Many runs with one question: sweeps, validation, calibration, fleets, losses of power."""
