"""What recorded runs come to: runs on disk, measures, comparisons, studies."""
