"""MJCF documents: read, compose, edit and write them."""
