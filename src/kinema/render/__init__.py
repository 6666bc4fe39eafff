"""Pictures: a ray tracer for the cameras of a model, without OpenGL.

    sim.render(camera="side", width=640, height=480)        one picture of every world
    Renderer(sim, ["front", "back"], 64, 64)                many, into arrays that stay on the device
    write_png, write_video, filmstrip                       files
"""

from kinema.render.camera import FreeCamera
from kinema.render.picture import render
from kinema.render.renderer import Renderer
from kinema.render.video import filmstrip, write_png, write_video

__all__ = ["FreeCamera", "Renderer", "filmstrip", "render", "write_png", "write_video"]
