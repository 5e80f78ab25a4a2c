"""Reports from results: they read documents and never run anything."""
