"""What the standard tests are run on: rounds, cells, time bases, the journal, the documents."""
