"""Compile a document both ways: with Kinema and with MuJoCo, and compare every field."""

from __future__ import annotations

import warnings

import mujoco
import pytest

from kinema.compile import HostModel, compile_model
from kinema.errors import KinemaError
from tests.conformance.compare import differences


def agree(xml: str, assets: dict[str, bytes] | None = None) -> tuple[HostModel, mujoco.MjModel]:
    """Both compilations of a document; fails where any field differs."""
    theirs = mujoco.MjModel.from_xml_string(xml, assets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = compile_model(xml, assets=assets)
    assert differences(ours, theirs) == {}
    return ours, theirs


def both_refuse(xml: str, match: str | None = None, assets: dict[str, bytes] | None = None) -> KinemaError:
    """Kinema's error for a document that MuJoCo refuses too."""
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(xml, assets)
    with pytest.raises(KinemaError, match=match) as caught:
        compile_model(xml, assets=assets)
    return caught.value
