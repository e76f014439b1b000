"""Declarations: what an experiment, a topology and a study are, and how files of several forms
become one.
"""
