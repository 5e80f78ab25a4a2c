"""Power loss: campaigns of cuts on simulated drives, and which option prevents which fault."""
