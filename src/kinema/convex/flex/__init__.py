"""Deformable bodies: vertices that bodies carry, edges and elements between them, and the forces these exert."""
