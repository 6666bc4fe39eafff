"""Default classes stay with their model: what a parent sets never reaches a child, and the other way round.

    python examples/document_defaults.py
"""

from kinema import mjcf

PARENT = """
<mujoco model="parent">
  <default>
    <geom rgba="1 0 0 1"/>
    <default class="green"><geom rgba="0 1 0 1"/></default>
  </default>
  <worldbody><geom name="red" size="0.1"/><geom name="leaf" class="green" size="0.1"/></worldbody>
</mujoco>
"""

CHILD = """
<mujoco model="child">
  <default class="main">
    <joint range="0 1"/>
    <default class="stiff"><joint stiffness="0.1"/></default>
  </default>
  <worldbody>
    <body name="door"><joint name="hinge" class="stiff"/><geom name="panel" size="0.1"/></body>
  </worldbody>
</mujoco>
"""


def main() -> None:
    parent, child = mjcf.from_xml_string(PARENT), mjcf.from_xml_string(CHILD)
    leaf = parent.find("geom", "leaf")
    print(leaf.dclass.dclass, parent.default.default["green"].geom.rgba, leaf.rgba)

    parent.attach(child)
    print(parent.default.to_xml_string(), end="")
    print(child.find("joint", "hinge").to_xml_string(prefix_root=parent.namescope), end="")

    mjcf.commit_defaults(leaf)  # what the class says, written into the element
    print(leaf.rgba)


if __name__ == "__main__":
    main()
