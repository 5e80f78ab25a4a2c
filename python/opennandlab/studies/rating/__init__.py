"""From a page of a data sheet to a device, and a band for each of its predictions."""
