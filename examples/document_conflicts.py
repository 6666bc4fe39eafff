"""Options of composed models must agree; angles never need to.

    python examples/document_conflicts.py
"""

from kinema import mjcf


def model(name: str, angle: str | None = None, timestep: float | None = None) -> mjcf.RootElement:
    root = mjcf.RootElement(model=name)
    root.compiler.angle = angle
    root.option.timestep = timestep
    return root


def main() -> None:
    try:
        model("first", angle="radian").attach(model("second", angle="degree"))
    except ValueError as error:
        print(f"refused: {error}")

    # Only what both set and set differently conflicts; some options combine instead.
    first, second = model("first", timestep=0.005), model("second", timestep=0.002)
    first.attach(second)
    print("timestep", first.option.timestep, second.option.timestep)

    # A parent that says nothing means degrees, and a radian child does not change that.
    parent, child = model("parent"), model("child", angle="radian")
    parent.worldbody.add("body", name="door", euler=[0, 0, 90])
    child.worldbody.add("body", name="latch", euler=[0, 0, 0.5])
    parent.attach(child)
    print(parent.find("body", "door").euler, child.find("body", "latch").euler)
    print(parent.to_xml_string(precision=4), end="")


if __name__ == "__main__":
    main()
