"""Plots of results: what a table would say worse.

Each has ``points``, all that it shows as found in the results, and ``draw``,
which makes a figure of them. Light: only ``draw`` imports matplotlib.
"""
