"""Calibration: every link is measured before anything runs."""
