"""Benchmarks, run by `scripts/bench NAME`; a module with an underscore is part of others."""
