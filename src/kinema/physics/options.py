"""dm_control's ways to say what a picture shows, as options of Kinema's renderer.

    render_flag_overrides    shadow, reflection, skybox and haze are switched; the others belong to OpenGL, and may only
                             be given as this picture has them
    scene_option             groups of geoms, sites and tendons; of its flags contact points and forces, joints and
                             inertia; frames of bodies; labels
    overlays                 texts in corners
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinema.errors import BuildError, UnknownKey, did_you_mean

FLAGS = ("shadow", "wireframe", "reflection", "additive", "skybox", "fog", "haze", "depth", "segment", "idcolor",
         "cull_face", "post_processing")  # fmt: skip
"""mjtRndFlag, in its order."""

SWITCHED = {"shadow": "shadows", "reflection": "reflections", "skybox": "sky", "haze": "haze"}
AS_IT_IS = {"wireframe": False, "additive": False, "fog": False, "depth": False, "segment": False, "idcolor": False,
            "cull_face": True, "post_processing": False}  # fmt: skip
"""What cannot be switched, and how it is."""

DECORATED = {"contacts": 14, "forces": 16, "joints": 2, "inertia": 10}
"""Overlays, and the switches of MjvOption.flags (mjtVisFlag) that ask for them."""

LABELLED = {1: "body", 2: "joint", 3: "geom", 4: "site", 5: "camera", 6: "light"}
"""mjtLabel of names that can be written."""

BODY_FRAMES = 1  # mjFRAME_BODY


def switches(overrides: Mapping[Any, bool] | None) -> dict[str, bool]:
    """Options of a picture for switches by name or number."""
    found = {}
    for key, value in (overrides or {}).items():
        name = key.lower() if isinstance(key, str) else FLAGS[int(key)] if 0 <= int(key) < len(FLAGS) else str(key)
        if name in SWITCHED:
            found[SWITCHED[name]] = bool(value)
        elif name not in AS_IT_IS:
            raise UnknownKey(f"render: no flag {key!r}{did_you_mean(name, FLAGS)}: {', '.join(FLAGS)}")
        elif bool(value) != AS_IT_IS[name]:
            raise BuildError(f"render: the flag {name} is OpenGL's; a picture traced by rays is {AS_IT_IS[name]} in it")
    return found


def seen(option: Any, *, decorated: bool) -> dict[str, Any]:
    """Options of a picture for an MjvOption or whatever has some of its fields; decorations where they are wanted."""
    if option is None:
        return {}
    found: dict[str, Any] = {
        f"{kind}_groups": tuple(np.flatnonzero(getattr(option, f"{kind}group")).tolist())
        for kind in ("geom", "site", "tendon", "skin")
        if hasattr(option, f"{kind}group")
    }
    if decorated:
        flags = np.asarray(getattr(option, "flags", np.zeros(0)))
        found["overlays"] = tuple(name for name, flag in DECORATED.items() if flag < len(flags) and flags[flag])
        if int(getattr(option, "frame", 0)) == BODY_FRAMES:
            found["overlays"] += ("frames",)
        label = LABELLED.get(int(getattr(option, "label", 0)))
        found |= {"labels": label} if label else {}
    return found


def written(picture: np.ndarray, overlay: Any) -> np.ndarray:
    """A picture with a text on it: anything with `title`, `body` and `position`, as dm_control's TextOverlay has."""
    from kinema.render.labels import CORNERS, write_text

    if not hasattr(overlay, "title") or not hasattr(overlay, "body"):
        raise BuildError(f"render: overlays are texts with a title and a body (TextOverlay), not {overlay!r}")
    position = getattr(overlay, "position", "top left")
    if not isinstance(position, str):  # mjtGridPos, as dm_control keeps it
        position = CORNERS[int(position)] if 0 <= int(position) < len(CORNERS) else str(position)
    return write_text(picture, str(overlay.title), str(overlay.body), position)
