"""<dcmotor>: an electric motor from datasheet values.

    R i + L di/dt = v - K ω,   τ = K i,   K = √(Kt Ke)
    nominal (voltage, stall torque, no-load speed) gives what is missing:  K from the speed, R = K v / τ_stall

Parameters of the general actuator: gainprm = R K α T0 kp ki kd v_max, dynprm = t_e (di/dt)_max R_T C T_a σ0 σ1 slewmax
I_max, biasprm = cogging (3), τ_c τ_s ω_s. Activations: slew, integral, temperature, bristle, current.
"""

from __future__ import annotations

import math

import numpy as np

from kinema.compile.actuator_record import Record, read_input
from kinema.compile.element import AUTO, FALSE, TRUE, Element
from kinema.mujoco_enums import Bias, ControlInput, Dynamics, Gain


def dcmotor(r: Record, e: Element, base: Record | None) -> None:
    gain, bias, dyn = (base.gainprm, base.biasprm, base.dynprm) if base is not None else (np.zeros(10),) * 3
    kt, ke = e.vector("motorconst", (gain[1], 0.0), at_most=2)
    if e.given("motorconst") and min(kt, ke) < 0:
        raise e.error("motor constants cannot be negative", "motorconst")
    nominal = e.vector("nominal", (0.0, 0.0, 0.0), at_most=3)
    saturation = e.vector("saturation", (0.0, 0.0, dyn[1]), at_most=3)
    inductance = e.vector("inductance", (0.0, 0.0 if e.given("inductance") else dyn[0]), at_most=2)
    cogging = e.vector("cogging", bias[:3], at_most=3)
    controller = e.vector("controller", (gain[4], gain[5], gain[6], dyn[7], dyn[8], gain[7]), at_most=6)
    thermal = e.vector("thermal", (dyn[2], dyn[3], 0.0, gain[2], gain[3], dyn[4]), at_most=6)
    lugre = e.vector("lugre", (dyn[5], dyn[6], bias[3], bias[4], bias[5]), at_most=5)
    r.ctrlspec = 0 if base is None else base.ctrlspec
    read_input(r, e)
    resistance = e.number("resistance", float(gain[0]))

    K, R = _constants(r, float(kt), float(ke), resistance, nominal)
    if K < 0 or (K == 0 and r.ctrlspec != ControlInput.NONE):
        raise e.error("DC motor: motor constant K must be positive")
    if R <= 0:
        raise e.error("DC motor: resistance R must be positive")

    r.gaintype, r.biastype, r.dyntype = Gain.DCMOTOR, Bias.DCMOTOR, Dynamics.DCMOTOR
    r.gainprm, r.biasprm, r.dynprm = np.zeros(10), np.zeros(10), np.zeros(10)
    r.gainprm[[0, 1, 4, 5, 6]] = R, K, *controller[:3]
    r.gainprm[7] = max(controller[5], 0.0)
    r.dynprm[7:9] = controller[3:5]
    r.biasprm[:3] = cogging
    if base is not None and base.forcelimited == TRUE:
        r.forcerange, r.forcelimited = base.forcerange.copy(), base.forcelimited
    _saturate(r, e, K, saturation)
    if inductance.min() < 0:
        raise e.error("DC motor: inductance and electrical time constant must be non-negative", "inductance")
    r.dynprm[0] = inductance[0] / R if inductance[0] > 0 else inductance[1]
    _heat(r, e, thermal)
    if lugre[0] > 0:
        r.dynprm[5:7], r.biasprm[3:6] = lugre[:2], lugre[2:]
    r.actdim = dcmotor_states(r)
    r.actlimited, r.actearly = FALSE, True


def _constants(r: Record, kt: float, ke: float, R: float, nominal: np.ndarray) -> tuple[float, float]:
    """Motor constant and resistance, completed from the nominal operating point."""
    voltage, stall, speed = (float(x) for x in nominal)
    if voltage > 0 and ke <= 0 and speed > 0:
        B = float(r.damping[0])
        ke = voltage / speed
        if B > 0 and R > 0:
            disc = voltage * voltage - 4 * R * B * speed * speed
            if disc > 0:
                ke = (voltage + math.sqrt(disc)) / (2 * speed)
        elif B > 0 and stall > 0:
            exact = voltage / speed - voltage * B / stall
            ke = exact if exact > 0 else ke
    K = math.sqrt(kt * ke) if kt > 0 and ke > 0 else kt if kt > 0 else ke
    if R == 0 and voltage > 0 and stall > 0 and K > 0:
        R = K * voltage / stall
    return K, R


def _saturate(r: Record, e: Element, K: float, saturation: np.ndarray) -> None:
    if e.given("saturation"):
        r.forcerange, r.forcelimited = np.zeros(2), AUTO
    torque = saturation[0] if saturation[0] != 0 else K * saturation[1]
    if torque > 0:
        r.forcerange, r.forcelimited = np.array([-torque, torque]), TRUE
    r.dynprm[1] = max(saturation[2], 0.0)


def _heat(r: Record, e: Element, thermal: np.ndarray) -> None:
    """Thermal resistance and capacitance from any two of (resistance, capacitance, time constant)."""
    resistance, capacity, time = (float(x) for x in thermal[:3])
    if max(resistance, capacity, time) <= 0:
        return
    if time > 0 and resistance > 0:
        capacity = time / resistance
    elif time > 0 and capacity > 0:
        resistance = time / capacity
    if resistance <= 0 or capacity <= 0:
        raise e.error("DC motor: thermal resistance and capacitance must be positive", "thermal")
    r.dynprm[2:5] = resistance, capacity, thermal[5]
    r.gainprm[2:4] = thermal[3:5]


def dcmotor_states(r: Record) -> int:
    """Number of activations: slew, integral, temperature, bristle, current, as far as the parameters ask for them."""
    return sum(map(bool, (r.dynprm[7] > 0, r.gainprm[5] > 0, r.dynprm[2] > 0, r.dynprm[5] > 0, r.dynprm[0] > 0)))
