"""Constraint solvers: find the acceleration that minimizes Gauss's cost plus the cost of violating the rows."""
