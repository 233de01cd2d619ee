"""Benchmarks: each prints, last, one JSON object of ratios from a single run."""
