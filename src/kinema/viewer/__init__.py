"""The viewer: models, simulations and recordings in the browser.

    kinema.viewer.view("robot.xml")                      a page that runs the model, until Ctrl-C
    viewer = sim.view()                                  a page that runs a simulation, while you go on
    kinema.viewer.write_html(recording, "run.html")      a page in one file that plays offline

A program written for Newton's viewers logs its states to `ViewerViser`, `ViewerFile`, `ViewerUSD` or
`ViewerNull` (logged.py, usd_file.py).

Nothing is loaded from the network, and the page is served to this machine only unless `host` says otherwise. It needs
the extra `view`; nothing else in Kinema imports this package.
"""

from kinema.viewer.html import write_html
from kinema.viewer.logged import ViewerFile, ViewerGL, ViewerNull, ViewerViser
from kinema.viewer.usd_file import ViewerUSD
from kinema.viewer.viewer import Viewer, view

__all__ = ["Viewer", "ViewerFile", "ViewerGL", "ViewerNull", "ViewerUSD", "ViewerViser", "view", "write_html"]
