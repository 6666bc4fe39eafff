"""Two arms from one class: names of attached models are prefixed, so nothing collides.

    python examples/document_arms.py
"""

from kinema import mjcf


class Arm:
    """A shoulder, an elbow, and a motor on each."""

    def __init__(self, name: str):
        self.mjcf_model = mjcf.RootElement(model=name)
        self.upper_arm = self.mjcf_model.worldbody.add("body", name="upper_arm")
        self.shoulder = self.upper_arm.add("joint", name="shoulder", type="ball")
        self.upper_arm.add("geom", name="upper_arm", type="capsule", pos=[0, 0, -0.15], size=[0.045, 0.15])

        self.forearm = self.upper_arm.add("body", name="forearm", pos=[0, 0, -0.3])
        self.elbow = self.forearm.add("joint", name="elbow", type="hinge", axis=[0, 1, 0])
        self.forearm.add("geom", name="forearm", type="capsule", pos=[0, 0, -0.15], size=[0.045, 0.15])
        self.mjcf_model.actuator.add("motor", name="elbow", joint=self.elbow)


class UpperBody:
    """A torso with an arm at each shoulder."""

    def __init__(self) -> None:
        self.mjcf_model = mjcf.RootElement(model="upper_body")
        self.mjcf_model.worldbody.add("geom", name="torso", type="box", size=[0.15, 0.045, 0.25])
        left_shoulder = self.mjcf_model.worldbody.add("site", size=[1e-6] * 3, pos=[-0.15, 0, 0.25])
        right_shoulder = self.mjcf_model.worldbody.add("site", size=[1e-6] * 3, pos=[0.15, 0, 0.25])

        self.left_arm = Arm(name="left_arm")
        left_shoulder.attach(self.left_arm.mjcf_model)
        self.right_arm = Arm(name="right_arm")
        right_shoulder.attach(self.right_arm.mjcf_model)


def main() -> None:
    body = UpperBody()
    for joint in body.mjcf_model.find_all("joint"):
        print(joint.full_identifier)
    elbow = body.mjcf_model.find("joint", "right_arm/elbow")
    assert elbow is body.right_arm.elbow
    elbow.name = "hinge"  # references follow
    motor = body.mjcf_model.actuator.motor["right_arm/elbow"]
    print(motor.to_xml_string(prefix_root=body.mjcf_model.namescope), end="")


if __name__ == "__main__":
    main()
