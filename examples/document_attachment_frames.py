"""The body an attached model hangs from: where it stands, how it may move, how it is found again.

    python examples/document_attachment_frames.py
"""

from kinema import mjcf

PARENT = """
<mujoco model="parent">
  <worldbody>
    <body>
      <geom name="foo" type="box" pos="-0.2 0 0.3" size="0.5 0.3 0.1"/>
      <site name="attachment_site" pos="1 2 3" quat="1 0 0 1"/>
    </body>
  </worldbody>
</mujoco>
"""

CHILD = """
<mujoco model="child">
  <worldbody><geom name="bar" type="box" pos="0.5 0.25 1" size="0.1 0.2 0.3"/></worldbody>
</mujoco>
"""


def main() -> None:
    parent = mjcf.from_xml_string(PARENT)
    child = mjcf.from_xml_string(CHILD)
    frame = parent.find("site", "attachment_site").attach(child)
    frame.add("joint", name="lift", type="slide", axis=[0, 0, 1])
    print(frame.to_xml_string(), end="")

    assert parent.find("attachment_frame", "child") is frame
    assert mjcf.traversal_utils.get_attachment_frame(child) is frame
    assert parent.find("geom", "child/bar") is child.find("geom", "bar")
    try:
        frame.add("geom", size=[0.1])  # geoms go into the child's worldbody
    except AttributeError as error:
        print(f"refused: {error}")

    arena = mjcf.RootElement(model="arena")
    arena.attach(parent).add("freejoint")  # only what is attached to a worldbody may float
    print([joint.full_identifier for joint in arena.find_all("joint")])
    parent.detach()
    print(len(arena.find_all("joint")), "joints after detaching")


if __name__ == "__main__":
    main()
