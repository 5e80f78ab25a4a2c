"""Statistics of measurements: numbers in, numbers out; they know no drive and no test."""
