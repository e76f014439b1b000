"""stream2gym's GraphML files, turned into a declaration."""
