"""A hundred runs of a correct pipeline with random faults: how often does the judge err?"""
