"""Histories for the judge: stories, correct runs and their mutations."""
