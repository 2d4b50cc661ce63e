"""Attacks on the package for as long as one likes: ``make stress``.

Every attack is a function of a random generator and an empty folder. It makes
one round and returns how much it tried, and what failed.
"""
