"""Constraint rows: residual, Jacobian, impedance and reference acceleration of every active constraint."""
