"""Measurements behind the tables: scripts, what they share, and rendering."""
