"""DC motors: voltage, current, heat, and the friction of the gearbox.

    current       te i. = (V - K v) / R - i,  or at once i = (V - K v) / R      torque K i
    controller    torque-space PID: V = R/K (kp (q_ref - L) + kd (v_ref - v) + ki z + ff) + K v, within +-Vmax
    temperature   C T. = R i^2 - T / R_T above ambient;  R grows with it: R (1 + alpha (T + T_ambient - T_0))
    friction      LuGre: z. = v - s0 |v| / g(v) z,  g = F_C + (F_S - F_C) exp(-(v / v_S)^2),  f = -s0 z - s1 z.
    cogging       f = A sin(N L + phase)

Friction and cogging are mechanical: limits of the current do not hold them, so they are added after those.
States, each only where its parameter asks for it, in this order: setpoint under its rate limit, integral, temperature,
bristle deflection, current.

    gainprm  R K alpha T_0 kp ki kd Vmax      dynprm  te di/dt_max R_T C T_ambient s0 s1 slew Imax
    biasprm  A N phase F_C F_S v_S
"""

import warp as wp

from kinema.convex.activation import FAMILY_DCMOTOR, at_tendon_limit, is_disabled, slew
from kinema.convex.bundle import vec10
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.pid import limited_error, servo_inputs
from kinema.mujoco_enums import MINVAL, Bias, Gain, Transmission

CONTROLLED = wp.constant(7)  # inputs that go through the controller: position, velocity, feedforward
SLEW, INTEGRAL, TEMPERATURE, BRISTLE, CURRENT = (wp.constant(k) for k in range(5))

vec5i = wp.types.vector(length=5, dtype=int)


@wp.func
def state_slots(dynprm: vec10, gainprm: vec10) -> vec5i:
    """Place of each state among those of the actuator; -1: it has none."""
    slots = vec5i(-1, -1, -1, -1, -1)
    count = int(0)
    if dynprm[7] > 0.0:
        slots[SLEW] = count
        count += 1
    if gainprm[5] > 0.0:
        slots[INTEGRAL] = count
        count += 1
    if dynprm[2] > 0.0:
        slots[TEMPERATURE] = count
        count += 1
    if dynprm[5] > 0.0:
        slots[BRISTLE] = count
        count += 1
    if dynprm[0] > 0.0:
        slots[CURRENT] = count
        count += 1
    return slots


@wp.func
def hot_resistance(temperature: float, dynprm: vec10, gainprm: vec10) -> float:
    """R at a temperature above ambient."""
    return gainprm[0] * (1.0 + gainprm[2] * (temperature + dynprm[4] - gainprm[3]))


@wp.func
def bristle_decay(velocity: float, s0: float, biasprm: vec10) -> float:
    """a in z. = a z + v."""
    ratio = velocity / wp.max(MINVAL, biasprm[5])
    g = biasprm[3] + (biasprm[4] - biasprm[3]) * wp.exp(-ratio * ratio)
    return -s0 * wp.abs(velocity) / wp.max(MINVAL, g)


@wp.func
def controller_voltage(inputs: wp.vec4, length: float, velocity: float, integral: float, gainprm: vec10) -> float:
    """Voltage that would make the controller's torque, before its limit."""
    torque = gainprm[4] * (inputs[0] - length) + gainprm[6] * (inputs[1] - velocity) + gainprm[5] * integral + inputs[2]
    return gainprm[0] / gainprm[1] * torque + gainprm[1] * velocity


@wp.func
def motor_voltage(spec: int, inputs: wp.vec4, length: float, velocity: float, integral: float, gainprm: vec10) -> float:
    """Terminal voltage: the controller's, within its supply, and the raw input."""
    voltage = float(0.0)
    if (spec & CONTROLLED) != 0:
        voltage = controller_voltage(inputs, length, velocity, integral, gainprm)
        if gainprm[7] > 0.0:
            voltage = wp.clamp(voltage, -gainprm[7], gainprm[7])
    return voltage + inputs[3]


@wp.func
def next_current(current: float, rate: float, te: float, h: float) -> float:
    """The current one time step on, exactly."""
    t = wp.max(MINVAL, te)
    return current + rate * t * (1.0 - wp.exp(-h / t))


@wp.func
def motor_motion(m: Model, d: Data, w: int, i: int):
    """Length and velocity of a motor's transmission, and its parameters of dynamics and gain."""
    out = m.actuator.outadr[i]
    return d.act.length[w, out], d.act.velocity[w, out], m.actuator.dynprm[w, i], m.actuator.gainprm[w, i]


@wp.func
def dcmotor_actuator(m: Model, d: Data, w: int, i: int):
    """Rates of the states, and the electrical force, of DC motors."""
    if m.actuator.family[i] == FAMILY_DCMOTOR:
        length, velocity, dynprm, gainprm = motor_motion(m, d, w, i)
        te, constant, resistance = dynprm[0], gainprm[1], gainprm[0]
        slots = state_slots(dynprm, gainprm)
        first = m.actuator.actadr[i]
        h = m.opt.timestep[w]
        adr = m.actuator.ctrladr[i]
        spec = m.actuator.ctrlspec[i]

        if slots[SLEW] >= 0 and m.actuator.ctrlnum[i] > 0:
            previous = d.state.act[w, first + slots[SLEW]]
            setpoint = slew(d.act.control[w, adr], previous, dynprm[7] * h, 0.0)
            d.act.act_dot[w, first + slots[SLEW]] = (setpoint - previous) / h
            d.act.control[w, adr] = setpoint
        integral = float(0.0)
        if slots[INTEGRAL] >= 0:
            integral = d.state.act[w, first + slots[INTEGRAL]]
            error = d.act.control[w, adr] - length
            d.act.act_dot[w, first + slots[INTEGRAL]] = limited_error(error, integral, dynprm[8])
        voltage = float(0.0)
        if m.actuator.ctrlnum[i] > 0:
            inputs = servo_inputs(d.act.control, w, adr, spec)
            voltage = motor_voltage(spec, inputs, length, velocity, integral, gainprm)
        current = float(0.0)
        if slots[CURRENT] >= 0:
            current = d.state.act[w, first + slots[CURRENT]]
        if slots[TEMPERATURE] >= 0:
            heat = d.state.act[w, first + slots[TEMPERATURE]]
            resistance = hot_resistance(heat, dynprm, gainprm)
            flowing = current
            if slots[CURRENT] < 0:
                flowing = (voltage - constant * velocity) / resistance
            rate = (resistance * flowing * flowing - heat / dynprm[2]) / dynprm[3]
            d.act.act_dot[w, first + slots[TEMPERATURE]] = rate
        if slots[BRISTLE] >= 0:
            z = d.state.act[w, first + slots[BRISTLE]]
            decay = bristle_decay(velocity, dynprm[5], m.actuator.biasprm[w, i])
            d.act.act_dot[w, first + slots[BRISTLE]] = decay * z + velocity
        if slots[CURRENT] >= 0:
            rate = (voltage / resistance - constant / resistance * velocity - current) / te
            if dynprm[1] > 0.0:
                rate = wp.clamp(rate, -dynprm[1], dynprm[1])
            d.act.act_dot[w, first + slots[CURRENT]] = rate
            if m.actuator.actearly[i] != 0:
                current = next_current(current, rate, te, h)

        gain = constant
        u = current
        if te <= 0.0:
            gain = constant / wp.max(MINVAL, resistance)
            u = voltage
        gaintype = m.actuator.gaintype[i]
        if gaintype == Gain.FIXED:
            gain = gainprm[0]
        elif gaintype == Gain.AFFINE:
            gain = gainprm[0] + gainprm[1] * length + gainprm[2] * velocity
        bias = float(0.0)
        biastype = m.actuator.biastype[i]
        if biastype == Bias.AFFINE:
            prm = m.actuator.biasprm[w, i]
            bias = prm[0] + prm[1] * length + prm[2] * velocity
        elif biastype == Bias.DCMOTOR and te <= 0.0:
            bias = -gain * constant * velocity
        if not is_disabled(m.opt.disableactuator, m.actuator.group[i]):
            d.act.force[w, m.actuator.outadr[i]] = gain * u + bias


@wp.func
def mechanical_force(m: Model, d: Data, w: int, i: int):
    """Add cogging and friction to the force of DC motors."""
    if m.actuator.biastype[i] == Bias.DCMOTOR and m.actuator.family[i] == FAMILY_DCMOTOR:
        out = m.actuator.outadr[i]
        prm = m.actuator.biasprm[w, i]
        dynprm = m.actuator.dynprm[w, i]
        force = prm[0] * wp.sin(prm[1] * d.act.length[w, out] + prm[2])
        if dynprm[5] > 0.0:
            k = m.actuator.actadr[i] + state_slots(dynprm, m.actuator.gainprm[w, i])[BRISTLE]
            force -= dynprm[5] * d.state.act[w, k] + dynprm[6] * d.act.act_dot[w, k]
        if not is_disabled(m.opt.disableactuator, m.actuator.group[i]):
            d.act.force[w, out] = d.act.force[w, out] + force


@wp.func
def advance_dcmotor(m: Model, d: Data, w: int, i: int):
    """Move the states of DC motors one time step on: current and bristle exactly, the others by Euler."""
    first = m.actuator.actadr[i]
    if m.actuator.family[i] == FAMILY_DCMOTOR and first >= 0:
        h = m.opt.timestep[w]
        dynprm = m.actuator.dynprm[w, i]
        slots = state_slots(dynprm, m.actuator.gainprm[w, i])
        disabled = is_disabled(m.opt.disableactuator, m.actuator.group[i])
        for k in range(m.actuator.actnum[i]):
            act = d.state.act[w, first + k]
            rate = d.act.act_dot[w, first + k]
            if disabled:
                rate = 0.0
            later = act + h * rate
            if k == slots[CURRENT]:
                later = next_current(act, rate, dynprm[0], h)
            elif k == slots[BRISTLE]:
                velocity = float(0.0)  # at the beginning of the step, also where act_dot is a Runge-Kutta mean
                row = d.act.moment_rowadr[w, m.actuator.outadr[i]]
                for a in range(row, row + d.act.moment_rownnz[w, m.actuator.outadr[i]]):
                    velocity += d.act.moment[w, a] * d.state.qvel[w, d.act.moment_colind[w, a]]
                decay = bristle_decay(velocity, dynprm[5], m.actuator.biasprm[w, i])
                grown = wp.exp(decay * h)
                span = h
                if wp.abs(decay * h) > 1e-4:
                    span = (grown - 1.0) / decay
                else:  # the difference would lose its digits
                    span = h * (1.0 + 0.5 * decay * h)
                later = grown * act + span * velocity
            elif k == slots[INTEGRAL] and dynprm[8] > 0.0:
                later = wp.clamp(later, -dynprm[8], dynprm[8])
            d.state.act[w, first + k] = later


@wp.func
def dcmotor_slope(m: Model, d: Data, w: int, i: int):
    """d force / d velocity of DC motors, into d.act.slope: electrical terms where no limit holds them, and friction;
    and d force / d length, into d.act.stretch: of the controller, and of cogging.
    """
    if m.actuator.family[i] == FAMILY_DCMOTOR:
        length, velocity, dynprm, gainprm = motor_motion(m, d, w, i)
        te, constant, resistance = dynprm[0], gainprm[1], gainprm[0]
        slots = state_slots(dynprm, gainprm)
        first = m.actuator.actadr[i]
        if slots[TEMPERATURE] >= 0:
            resistance = hot_resistance(d.state.act[w, first + slots[TEMPERATURE]], dynprm, gainprm)
        resistance = wp.max(MINVAL, resistance)

        voltage = float(0.0)
        by_velocity = float(0.0)  # of the voltage, through the controller
        by_length = float(0.0)
        if m.actuator.ctrlnum[i] > 0:
            spec = m.actuator.ctrlspec[i]
            inputs = servo_inputs(d.act.control, w, m.actuator.ctrladr[i], spec)
            integral = float(0.0)
            if slots[INTEGRAL] >= 0:
                integral = d.state.act[w, first + slots[INTEGRAL]]
            voltage = motor_voltage(spec, inputs, length, velocity, integral, gainprm)
            if (spec & CONTROLLED) != 0:
                wanted = controller_voltage(inputs, length, velocity, integral, gainprm)
                if gainprm[7] <= 0.0 or wp.abs(wanted) < gainprm[7]:
                    by_velocity = constant - gainprm[6] * wp.max(MINVAL, gainprm[0]) / constant
                    by_length = -gainprm[4] * wp.max(MINVAL, gainprm[0]) / constant

        h = m.opt.timestep[w]
        electrical = constant / resistance * (voltage - constant * velocity)
        slope = float(0.0)
        stretch = float(0.0)
        if te > 0.0:
            k = first + slots[CURRENT]
            rate = d.act.act_dot[w, k]
            current = d.state.act[w, k]
            if m.actuator.actearly[i] != 0:
                current = next_current(current, rate, te, h)
                if dynprm[1] <= 0.0 or wp.abs(rate) < dynprm[1]:
                    share = constant * (1.0 - wp.exp(-h / te)) / resistance
                    slope = share * (by_velocity - constant)
                    stretch = share * by_length
            electrical = constant * current
        else:
            slope = constant * by_velocity / resistance
            stretch = constant * by_length / resistance
            if m.actuator.biastype[i] == Bias.DCMOTOR:
                slope -= constant * constant / resistance

        held = bool(False)
        if m.actuator.forcelimited[i] != 0:
            limits = m.actuator.forcerange[w, i]
            held = electrical <= limits[0] or electrical >= limits[1]
        kind = m.actuator.trntype[i]
        target = m.actuator.trnid[i][0]
        if kind == Transmission.TENDON:
            if m.tendon.actfrclimited[target] != 0:
                limits = m.tendon.actfrcrange[w, target]
                held = held or at_tendon_limit(d.act.tendon_force[w, target], limits)
        if held:
            slope = 0.0
            stretch = 0.0
        slope -= dynprm[6]
        if m.actuator.biastype[i] == Bias.DCMOTOR:
            cogging = m.actuator.biasprm[w, i]
            stretch += cogging[0] * cogging[1] * wp.cos(cogging[1] * length + cogging[2])
        if kind == Transmission.JOINT or kind == Transmission.JOINTINPARENT:  # a joint's limit holds friction as well
            if m.jnt.actfrclimited[target] != 0:
                limits = m.jnt.actfrcrange[w, target]
                total = d.frc.qfrc_actuator[w, m.jnt.dofadr[target]]
                if total <= limits[0] or total >= limits[1]:
                    slope = 0.0
                    stretch = 0.0
        if is_disabled(m.opt.disableactuator, m.actuator.group[i]):
            slope = 0.0
            stretch = 0.0
        d.act.slope[w, i] = slope
        d.act.stretch[w, i] = stretch
