"""A page to explore a map in a browser."""

from .export import write_explorer

__all__ = ['write_explorer']
