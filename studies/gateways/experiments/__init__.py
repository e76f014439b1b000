"""One module per experiment: the claim, how it is measured, its plot, and the verdict."""
