"""Eight worlds at once on a CPU core, one a vector lane: parts of a recipe as they are, and the same text widened."""
