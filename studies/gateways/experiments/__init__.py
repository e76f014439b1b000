"""One module for each experiment: the claim, how it is measured, its plot, and what the numbers say
of the claim.
"""
