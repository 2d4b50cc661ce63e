"""A page to explore a map in a browser."""

from .export import page_map, write_explorer

__all__ = ['page_map', 'write_explorer']
