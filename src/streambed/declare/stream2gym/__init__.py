"""stream2gym's GraphML files, turned into a declaration."""

SUFFIXES = (".graphml", ".xml")
"""How the names of GraphML files end."""
