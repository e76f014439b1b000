"""Reports: reads a run directory and shows it as one page; imports nothing that runs."""
