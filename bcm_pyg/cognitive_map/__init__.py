"""Graph, network and planner in one object, and the folder that holds it."""

from .cognitive_map import CognitiveMap

__all__ = ['CognitiveMap']
