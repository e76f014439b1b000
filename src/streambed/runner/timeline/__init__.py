"""Faults while the load lasts: injected at their times or on their triggers, probed, healed."""
