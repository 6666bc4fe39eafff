"""kinema.mlp_actuator: one neural network for all motors of an instance, its weights read from a file.

Input of a motor: the error of its position and its velocity now, then those of the steps before, `history` of them in
all; output: its force. Layers y = f(W x + b) with f the activation, none after the last. The file is a NumPy archive
of arrays W0 (n1, 2 history), b0 (n1,), W1, b1, ..., found through kinema.resources, so also memory:, zip: or data:.

The network is evaluated for all motors and worlds at once, a launch a layer: the large form of a plugin.
"""

import io

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.errors import PluginError
from kinema.plugins import Path, State, field, plugin
from kinema.resources import read

ACTIVATIONS = ("tanh", "relu", "elu", "softsign")
TANH, RELU, ELU, LINEAR = wp.constant(0), wp.constant(1), wp.constant(2), wp.constant(-1)


@wp.kernel(enable_backward=False)
def observe(
    m: Model,
    d: Data,
    motors: wp.array(dtype=int),
    stateadr: int,
    history: int,
    scale: wp.vec2,
    out: wp.array3d(dtype=float),
):
    """The network's input of each motor."""
    w, i = wp.tid()
    a = motors[i]
    length = d.act.length[w, m.actuator.outadr[a]]
    out[w, i, 0] = (d.act.control[w, m.actuator.ctrladr[a]] - length) * scale[0]
    out[w, i, 1] = d.act.velocity[w, m.actuator.outadr[a]] * scale[1]
    past = 2 * (history - 1)
    for k in range(past):
        out[w, i, 2 + k] = d.state.plugin_state[w, stateadr + i * past + k]


@wp.kernel(enable_backward=False)
def layer(
    x: wp.array3d(dtype=float),
    weight: wp.array2d(dtype=float),
    bias: wp.array(dtype=float),
    activation: int,
    y: wp.array3d(dtype=float),
):
    """One number of one layer."""
    w, i, row = wp.tid()
    total = bias[row]
    for k in range(weight.shape[1]):
        total += weight[row, k] * x[w, i, k]
    if activation == TANH:
        total = wp.tanh(total)
    elif activation == RELU:
        total = wp.max(total, 0.0)
    elif activation == ELU:
        total = wp.where(total > 0.0, total, wp.exp(wp.min(total, 0.0)) - 1.0)
    elif activation != LINEAR:
        total = total / (1.0 + wp.abs(total))
    y[w, i, row] = total


@wp.kernel(enable_backward=False)
def drive(m: Model, d: Data, motors: wp.array(dtype=int), scale: float, y: wp.array3d(dtype=float)):
    """The network's output as forces."""
    w, i = wp.tid()
    d.act.force[w, m.actuator.outadr[motors[i]]] = scale * y[w, i, 0]


@wp.kernel(enable_backward=False)
def remember(d: Data, stateadr: int, history: int, x: wp.array3d(dtype=float)):
    """Keep this step's input for the next."""
    w, i = wp.tid()
    past = 2 * (history - 1)
    if d.state.status[w] == 0:
        for k in range(past):
            d.state.plugin_state[w, stateadr + i * past + k] = x[w, i, k]


@plugin("kinema.mlp_actuator")
class MlpActuator:
    """Where the weights are, what the network looks like, and units."""

    weights: Path = field(required=True)
    motors: int = field(1, min=1)
    history: int = field(1, min=1)
    activation: str = field("tanh", choices=ACTIVATIONS)
    error_scale: float = 1.0
    velocity_scale: float = 1.0
    force_scale: float = 1.0

    capabilities = ("actuator",)
    past = State(count=lambda config: 2 * (config.history - 1) * config.motors)

    def init(self, model, instance):
        name = instance.plugin.name
        if len(instance.actuators) != self.motors:
            raise PluginError(f"plugin {name}: motors={self.motors}, but {len(instance.actuators)} actuators use it")
        archive = np.load(io.BytesIO(read(self.weights).data), allow_pickle=False)
        layers, width = [], 2 * self.history
        while f"W{len(layers)}" in archive:
            weight, bias = archive[f"W{len(layers)}"], archive[f"b{len(layers)}"]
            if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
                raise PluginError(
                    f"plugin {name}: layer {len(layers)} of {self.weights} has shapes {weight.shape} and {bias.shape}; "
                    f"expected (n, {width}) and (n,)"
                )
            width = weight.shape[0]
            layers.append((weight.astype(np.float32), bias.astype(np.float32)))
        if width != 1 or not layers:
            raise PluginError(f"plugin {name}: the network in {self.weights} has {width} outputs, expected 1")
        with wp.ScopedDevice(instance.device):
            shape = (instance.nworld, self.motors)
            return {
                "motors": wp.array(instance.actuators, dtype=int),
                "layers": [(wp.array(weight), wp.array(bias)) for weight, bias in layers],
                "values": [wp.zeros((*shape, n)) for n in (2 * self.history, *(len(b) for _, b in layers))],
            }

    def compute(self, m, d, instance) -> None:
        data, device, shape = instance.data, instance.device, (instance.nworld, self.motors)
        values = data["values"]
        scale = wp.vec2(self.error_scale, self.velocity_scale)
        inputs = [m, d, data["motors"], instance.stateadr, self.history, scale, values[0]]
        wp.launch(observe, shape, inputs, device=device)
        for n, (weight, bias) in enumerate(data["layers"]):
            last = n == len(data["layers"]) - 1
            kind = -1 if last else ACTIVATIONS.index(self.activation)
            inputs = [values[n], weight, bias, kind, values[n + 1]]
            wp.launch(layer, (*shape, weight.shape[0]), inputs, device=device)
        wp.launch(drive, shape, [m, d, data["motors"], self.force_scale, values[-1]], device=device)

    def advance(self, m, d, instance) -> None:
        if self.history > 1:
            shape = (instance.nworld, self.motors)
            inputs = [d, instance.stateadr, self.history, instance.data["values"][0]]
            wp.launch(remember, shape, inputs, device=instance.device)
