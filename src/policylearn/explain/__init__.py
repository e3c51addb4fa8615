"""Selections made visible."""

from policylearn.explain.drawings import Layout, Panel, draw_panels, place_nodes

__all__ = ["Layout", "Panel", "draw_panels", "place_nodes"]
