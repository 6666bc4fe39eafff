"""Stages to import, one subject each, as USDA text."""

HEAD = '#usda 1.0\n(\n upAxis = "{up}"\n metersPerUnit = 1\n kilogramsPerUnit = 1\n defaultPrim = "World"\n)\n'

SCENE = """
    def PhysicsScene "physics" {
        vector3f physics:gravityDirection = (0, -1, 0.2)
        float physics:gravityMagnitude = 3.5
    }
"""


def body(name, inside="", *, apis="", at=(0, 0, 0), turn=(1, 0, 0, 0), kind="Xform", size=""):
    extra = f', {apis}' if apis else ""
    return f"""
    def {kind} "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI"{extra}]) {{
        double3 xformOp:translate = {at}
        quatd xformOp:orient = {turn}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
        {size}
        {inside}
    }}
"""


def collider(kind, name="shape", inside="", *, apis="", scale=None, at=(0, 0, 0)):
    extra = f', {apis}' if apis else ""
    scaled = f'double3 xformOp:scale = {scale}\n' if scale else ""
    order = '"xformOp:translate"' + (', "xformOp:scale"' if scale else "")
    return f"""
        def {kind} "{name}" (prepend apiSchemas = ["PhysicsCollisionAPI"{extra}]) {{
            double3 xformOp:translate = {at}
            {scaled}
            uniform token[] xformOpOrder = [{order}]
            {inside}
        }}
"""


def joint(kind, name, first, second, inside="", *, apis=""):
    listed = f'(prepend apiSchemas = [{apis}])' if apis else ""
    zero = f"rel physics:body0 = </World/{first}>" if first else ""
    return f"""
    def {kind} "{name}" {listed} {{
        {zero}
        rel physics:body1 = </World/{second}>
        {inside}
    }}
"""


def world(*parts, up="Z", apis='"PhysicsArticulationRootAPI"'):
    listed = f'(prepend apiSchemas = [{apis}])' if apis else ""
    text = "\n".join(parts).replace("{", "{\n").replace("}", "\n}\n")
    return HEAD.format(up=up) + f'def Xform "World" {listed} {{\n' + text + "\n}\n"


BOX = collider("Cube", "box", "double size = 0.4")
CAPSULE = collider("Capsule", "capsule", 'double radius = 0.1\ndouble height = 0.5\nuniform token axis = "X"')
MASS = '"PhysicsMassAPI"'

STAGES = {
    "shapes": world(
        SCENE,
        body("a", BOX + CAPSULE + collider("Sphere", "ball", "double radius = 0.2", scale=(2, 2, 2))),
        body("b", collider("Cylinder", "drum", 'double radius = 0.1\ndouble height = 0.5\nuniform token axis = "Y"')
             + collider("Cone", "tip", 'double radius = 0.1\ndouble height = 0.5', at=(0, 0, 1)), at=(0, 0, 2)),
        'def Plane "floor" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { uniform token axis = "Z" }',
        apis="",
    ),
    "y up": world(SCENE, body("a", BOX + CAPSULE, at=(1, 2, 3), turn=(0.5, 0.5, 0.5, 0.5)), up="Y", apis=""),
    "masses": world(
        body("plain", BOX),
        body("dense", BOX + CAPSULE, apis=MASS, size="float physics:density = 200", at=(2, 0, 0)),
        body("heavy", BOX, apis=MASS, size="float physics:mass = 7", at=(4, 0, 0)),
        body("whole", BOX, apis=MASS, at=(6, 0, 0), size="float physics:mass = 2\n"
             "float3 physics:diagonalInertia = (0.1, 0.2, 0.15)\npoint3f physics:centerOfMass = (0.1, 0, 0)\n"
             "quatf physics:principalAxes = (0.7071068, 0, 0.7071068, 0)"),
        body("parts", collider("Cube", "box", "double size = 0.4\nfloat physics:mass = 3", apis=MASS)
             + collider("Sphere", "ball", "double radius = 0.2\nfloat physics:density = 50", apis=MASS, at=(1, 0, 0)),
             at=(8, 0, 0)),
        body("empty", "", apis=MASS, size="float physics:mass = 2", at=(10, 0, 0)),
        apis="",
    ),
    "hinge and slide": world(
        body("a", BOX), body("b", CAPSULE, at=(1, 0, 0)), body("c", BOX, at=(2, 0, 0)),
        joint("PhysicsFixedJoint", "root", "", "a"),
        joint("PhysicsRevoluteJoint", "hinge", "a", "b", 'uniform token physics:axis = "Y"\n'
              "float physics:lowerLimit = -30\nfloat physics:upperLimit = 60\npoint3f physics:localPos0 = (0.5, 0, 0)\n"
              "point3f physics:localPos1 = (-0.5, 0, 0)\nfloat drive:angular:physics:stiffness = 10\n"
              "float drive:angular:physics:damping = 2\nfloat drive:angular:physics:targetPosition = 20\n"
              "float drive:angular:physics:maxForce = 5", apis='"PhysicsDriveAPI:angular"'),
        joint("PhysicsPrismaticJoint", "slide", "b", "c", 'uniform token physics:axis = "Z"\n'
              "float physics:lowerLimit = -0.5\nfloat physics:upperLimit = 0.5\n"
              "point3f physics:localPos0 = (0.5, 0, 0)\npoint3f physics:localPos1 = (-0.5, 0, 0)\n"
              "float drive:linear:physics:damping = 2\nfloat drive:linear:physics:targetVelocity = 0.3",
              apis='"PhysicsDriveAPI:linear"'),
    ),
    "a floating tree": world(
        body("pelvis", BOX,
             size="vector3f physics:velocity = (1, 2, 3)\nvector3f physics:angularVelocity = (90, 0, 0)"),
        body("thigh", CAPSULE, at=(0, 0, -1)), body("arm", CAPSULE, at=(0, 1, 0)), body("shin", CAPSULE, at=(0, 0, -2)),
        joint("PhysicsSphericalJoint", "hip", "pelvis", "thigh", "point3f physics:localPos0 = (0, 0, -1)"),
        joint("PhysicsRevoluteJoint", "shoulder", "pelvis", "arm", "point3f physics:localPos0 = (0, 1, 0)\n"
              "bool physics:collisionEnabled = true"),
        joint("PhysicsRevoluteJoint", "knee", "thigh", "shin", "point3f physics:localPos0 = (0, 0, -1)"),
    ),
    "d6": world(
        body("a", BOX), body("b", BOX, at=(1, 0, 0)),
        joint("PhysicsFixedJoint", "root", "", "a"),
        joint("PhysicsJoint", "six", "a", "b", "point3f physics:localPos0 = (1, 0, 0)\n"
              "float limit:transX:physics:low = -0.1\nfloat limit:transX:physics:high = 0.2\n"
              "float limit:transY:physics:low = 1\nfloat limit:transY:physics:high = -1\n"
              "float limit:transZ:physics:low = 1\nfloat limit:transZ:physics:high = -1\n"
              "float limit:rotX:physics:low = 1\nfloat limit:rotX:physics:high = -1\n"
              "float limit:rotY:physics:low = -45\nfloat limit:rotY:physics:high = 30\n"
              "float limit:rotZ:physics:low = -10\nfloat limit:rotZ:physics:high = 10\n"
              "float drive:rotY:physics:stiffness = 3\nfloat drive:rotY:physics:damping = 1",
              apis=", ".join(f'"PhysicsLimitAPI:{axis}"' for axis in
                             ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")) + ', "PhysicsDriveAPI:rotY"'),
    ),
    "stacked joints": world(
        body("a", BOX), body("b", BOX, at=(1, 0, 0)),
        joint("PhysicsFixedJoint", "root", "", "a"),
        joint("PhysicsRevoluteJoint", "x", "a", "b", 'uniform token physics:axis = "X"\n'
              "point3f physics:localPos0 = (1, 0, 0)\nfloat physics:lowerLimit = -5\nfloat physics:upperLimit = 5"),
        joint("PhysicsRevoluteJoint", "y", "a", "b", 'uniform token physics:axis = "X"\n'
              "point3f physics:localPos0 = (1, 0, 0)\nquatf physics:localRot0 = (0.7071068, 0, 0, 0.7071068)\n"
              "quatf physics:localRot1 = (0.7071068, 0, 0, 0.7071068)"),
        joint("PhysicsPrismaticJoint", "z", "a", "b", 'uniform token physics:axis = "Z"\n'
              "point3f physics:localPos0 = (1, 0, 0)"),
    ),
    "filters": world(
        body("a", BOX), body("b", BOX, at=(1, 0, 0)),
        body("c", collider("Cube", "box", "rel physics:filteredPairs = </World/a>"), at=(2, 0, 0)),
        body("d", BOX, at=(3, 0, 0)),
        'def PhysicsCollisionGroup "red" (prepend apiSchemas = ["CollectionAPI:colliders"]) '
        '{ rel collection:colliders:includes = </World/a>\n rel physics:filteredGroups = </World/blue> }',
        'def PhysicsCollisionGroup "blue" (prepend apiSchemas = ["CollectionAPI:colliders"]) '
        '{ rel collection:colliders:includes = [</World/b>, </World/d>] }',
        apis="",
    ),
    "materials": world(
        'def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:dynamicFriction = 0.9\n'
        "float physics:staticFriction = 1.1\nfloat physics:restitution = 0.3\nfloat physics:density = 300\n"
        "float newton:torsionalFriction = 0.02\nfloat newton:contactStiffness = 1234 }",
        body("a", collider("Cube", "box", "double size = 0.4\nrel material:binding:physics = </World/rubber>",
                           apis='"MaterialBindingAPI"')),
        body("b", collider("Cube", "box", "double size = 0.4\nbool physics:collisionEnabled = false\n"
                           "float newton:contactMargin = 0.01\nfloat newton:contactGap = 0.02")
             + collider("Sphere", "ball", "double radius = 0.1"), at=(2, 0, 0)),
        apis="",
    ),
    "seen": world(
        body("a", BOX + 'def Sphere "eye" { double radius = 0.1\ncolor3f[] primvars:displayColor = [(1, 0.5, 0)] }\n'
             'def Cube "tag" (prepend apiSchemas = ["NewtonSiteAPI"]) { double size = 0.02 }'),
        'def Xform "scenery" { double3 xformOp:translate = (3, 0, 0)\n'
        'uniform token[] xformOpOrder = ["xformOp:translate"]\n'
        'def Capsule "tree" { double radius = 0.2\ndouble height = 2 }\n'
        'def Cube "hidden" { token visibility = "invisible" } }',
        apis="",
    ),
    "instances": world(
        'def Xform "arms" { \n def Xform "one" (instanceable = true\n references = </World/proto>) {\n'
        'double3 xformOp:translate = (1, 0, 0)\nuniform token[] xformOpOrder = ["xformOp:translate"] } }',
        'def Xform "proto" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {' + BOX + CAPSULE + "}",
        apis="",
    ),
    "schemas": world(
        body("a", BOX), body("b", BOX, at=(1, 0, 0)),
        joint("PhysicsFixedJoint", "root", "", "a"),
        joint("PhysicsRevoluteJoint", "hinge", "a", "b", "point3f physics:localPos0 = (1, 0, 0)\n"
              "float newton:armature = 0.3\nfloat newton:friction = 0.2\nfloat newton:velocityLimit = 90\n"
              "float newton:limitStiffness = 50\nfloat physxJoint:armature = 0.5\n"
              "float physxLimit:angular:damping = 3\n"
              "float physxJoint:maxJointVelocity = 45\nfloat state:angular:physics:position = 10\n"
              "float state:angular:physics:velocity = 20"),
    ),
}  # fmt: skip
