"""The few fixed words of composed documents."""

PREFIX_SEPARATOR = "/"
PREFIX_SEPARATOR_ESCAPE = "\\"

# 17 significant digits give every double back exactly.
XML_DEFAULT_PRECISION = 17

# MuJoCo refuses longer names in its virtual file system.
MAX_VFS_FILENAME_LENGTH = 998

# `objtype="xbody"` names a body too: its frame rather than its inertial frame.
INDIRECT_REFERENCE = {"xbody": "body"}

# The name of the world in references, and of the global default class; neither takes a prefix.
WORLD = "world"
MAIN_CLASS = "main"
