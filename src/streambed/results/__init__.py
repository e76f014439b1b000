"""Results of recorded runs: runs on disk, comparisons, studies."""
