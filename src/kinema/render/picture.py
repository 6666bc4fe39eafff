"""One picture at a time: `sim.render(...)`.

Renderers are kept with the simulation, the last few of them, so that the next picture of the same kind costs no set-up.
Colours, materials and lights of a model may be written between pictures: then a new renderer is made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from kinema.errors import BuildError
from kinema.model import Model, State
from kinema.render.decor import check_overlays
from kinema.render.items import GROUPS
from kinema.render.labels import write_labels
from kinema.render.renderer import Renderer
from kinema.simulation import Simulation

KEPT = 4
LOOKS = (
    "geom_rgba", "geom_matid", "geom_group", "geom_size", "site_rgba", "site_matid", "site_group", "site_size",
    "tendon_rgba", "tendon_matid", "tendon_width", "mat_rgba", "mat_emission", "mat_specular", "mat_shininess",
    "mat_reflectance", "mat_texid", "mat_texrepeat", "light_active", "light_castshadow", "light_ambient",
    "light_diffuse", "light_specular", "light_attenuation", "light_cutoff", "light_exponent", "light_bulbradius",
    "cam_projection", "skin_rgba", "skin_matid", "flex_rgba", "flex_matid", "flex_radius",
)  # fmt: skip
"""What of a model is seen and may be written."""


def render(
    sim, camera=None, width: int = 320, height: int = 240, *, worlds: int | Sequence[int] | None = None,
    kind: str = "rgb", shadows: bool = True, reflections: bool = True, sky: bool = True, haze: bool = True,
    antialias: bool = True,
    geom_groups: Collection[int] = GROUPS, site_groups: Collection[int] = GROUPS,
    tendon_groups: Collection[int] = GROUPS, skin_groups: Collection[int] = GROUPS,
    flex_groups: Collection[int] = GROUPS,
    overlays: Collection[str] = (), labels: str | None = None, refresh: bool = True, state: State | None = None,
) -> np.ndarray:  # fmt: skip
    """Pictures of worlds in their present state.

    Args:
        sim: The simulation; or a `Model`, whose worlds are drawn where `state` has them.
        camera: Name or id of a camera of the model, a `FreeCamera`, or None (or -1) for the model's free camera.
        width, height: Size in pixels.
        worlds: Which worlds: an index, indices or booleans; None: all.
        kind: "rgb", "depth" or "segmentation".
        shadows: Whether lights cast shadows.
        reflections: Whether a material with reflectance mirrors.
        sky, haze: Whether the model's sky is behind everything, and haze before it.
        antialias: Smooth the outlines of things and the edges of shadows.
        geom_groups, site_groups, tendon_groups, skin_groups, flex_groups: Groups that are drawn.
        overlays: What is drawn on top: "contacts", "forces", "joints", "frames", "inertia".
        labels: Names to write on top: "body", "joint", "geom", "site", "camera" or "light"; needs kinema[video].
        refresh: Compute poses from the state first; False draws them as the last step or forward left them.
        state: Of a model: where its worlds are; None: where they begin.

    Returns:
        (worlds, height, width, channels): three bytes; metres along the gaze, as one float (the far plane where nothing
        is); or object id and mjtObj, as two integers (-1, -1 where nothing is).
    """
    if isinstance(sim, Model):
        return _of_model(sim, state, worlds, partial(
            render, camera=camera, width=width, height=height, kind=kind, shadows=shadows, reflections=reflections,
            sky=sky, haze=haze, antialias=antialias, geom_groups=geom_groups, site_groups=site_groups,
            tendon_groups=tendon_groups, skin_groups=skin_groups, flex_groups=flex_groups, overlays=overlays,
            labels=labels, refresh=refresh,
        ))  # fmt: skip
    if state is not None:
        raise BuildError("render(state=...): a simulation is drawn as it is; set_state or read_model_state moves it")
    if isinstance(camera, list | tuple):
        raise BuildError("render draws one camera: a kinema.render.Renderer draws several at once")
    chosen = None if worlds is None else tuple(np.atleast_1d(np.asarray(worlds)).tolist())
    groups = tuple(_groups(g) for g in (geom_groups, site_groups, tendon_groups, skin_groups, flex_groups))
    look = hash(tuple(np.asarray(getattr(sim.model, name)).tobytes() for name in LOOKS))
    overlays = check_overlays(overlays)
    if labels is not None and kind != "rgb":
        raise BuildError(f"labels={labels!r}: they are written on colours only, not on {kind}")
    key = (camera, width, height, chosen, kind, shadows, reflections, sky, haze, antialias, groups, overlays, look)
    kept = vars(sim).setdefault("_renderers", {})
    renderer = kept.pop(key, None)
    if renderer is None:
        renderer = Renderer(
            sim, camera, width, height, kinds=(kind,), worlds=chosen, shadows=shadows, reflections=reflections,
            sky=sky, haze=haze, antialias=antialias, geom_groups=geom_groups, site_groups=site_groups,
            tendon_groups=tendon_groups, skin_groups=skin_groups, flex_groups=flex_groups, overlays=overlays,
        )  # fmt: skip
    kept[key] = renderer  # the newest last
    while len(kept) > KEPT:
        kept.pop(next(iter(kept)))
    renderer.render(refresh=refresh)
    pictures = getattr(renderer, kind).numpy()[:, 0].copy()  # the next picture is drawn into the same memory
    if labels is not None:
        write_labels(pictures, renderer, labels)
    return pictures[..., None] if kind == "depth" else pictures


def _groups(given: Collection[int]) -> tuple[int, ...]:
    """Groups, in order."""
    if isinstance(given, str) or not isinstance(given, Collection):
        raise BuildError(f"groups {given!r}: expected some of 0 to 5, such as ({given},)")
    return tuple(sorted(given))


def _of_model(model: Model, state: State | None, worlds: Any, draw: Callable[..., np.ndarray]) -> np.ndarray:
    """Pictures of a model's worlds, of whatever structure, in the order they are wanted in."""
    kept = vars(model)  # with the model, and gone with it
    sims = kept.get("_pictured") or kept.setdefault("_pictured", Simulation.of_model(model))
    chosen = np.arange(model.world_count) if worlds is None else np.atleast_1d(np.asarray(worlds))
    chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen % model.world_count
    pictures: dict[int, np.ndarray] = {}
    for sim in sims:
        mine = sim._of_model().worlds
        wanted = np.flatnonzero(np.isin(mine, chosen))
        if len(wanted):
            sim.read_model_state(model.state() if state is None else state)
            pictures |= dict(zip(mine[wanted].tolist(), draw(sim, worlds=wanted.tolist()), strict=True))
    return np.stack([pictures[int(world)] for world in chosen])
