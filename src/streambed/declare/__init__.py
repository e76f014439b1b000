"""Declarations: experiments, topologies and studies, and the readers of their file formats."""
