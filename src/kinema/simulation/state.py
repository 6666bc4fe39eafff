"""Which fields are the state of a world."""

STATE = (
    "time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "plugin_state", "ctrl", "qfrc_applied",
    "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata",
)  # fmt: skip
"""All that must be saved; with the model it determines every later step."""

KEYFRAME = ("time", "qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")
"""What a keyframe gives."""

KEY_NAMES = {"mocap_pos": "mpos", "mocap_quat": "mquat"}
"""Names of mjModel's keyframe fields, after `key_`, where they are not the state's."""
