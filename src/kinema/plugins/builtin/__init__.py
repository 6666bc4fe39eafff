"""Kinema's own plugins, written with nothing but what other plugins have: kinema.plugins."""
