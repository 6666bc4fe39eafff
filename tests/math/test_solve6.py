"""Six equations against NumPy."""

import numpy as np
import warp as wp

from kinema.math.solve6 import solve6


@wp.kernel(enable_backward=False)
def solve_all(
    a: wp.array(dtype=wp.spatial_matrix), b: wp.array(dtype=wp.spatial_vector), x: wp.array(dtype=wp.spatial_vector)
):
    i = wp.tid()
    x[i] = solve6(a[i], b[i])


def test_solutions_are_numpys():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(20, 6, 6)), rng.normal(size=(20, 6))
    a[0] = np.eye(6)[::-1]  # needs pivots
    x = wp.zeros(20, dtype=wp.spatial_vector, device="cpu")
    inputs = [wp.array(a, dtype=wp.spatial_matrix, device="cpu"), wp.array(b, dtype=wp.spatial_vector, device="cpu")]
    wp.launch(solve_all, dim=20, inputs=inputs, outputs=[x], device="cpu")
    expected = np.linalg.solve(a, b[..., None])[..., 0]
    np.testing.assert_allclose(x.numpy(), expected, atol=2e-4 * np.abs(expected).max())
    np.testing.assert_allclose(x.numpy()[0], b[0][::-1], atol=1e-6)


def test_a_singular_system_gives_back_its_right_side():
    x = wp.zeros(1, dtype=wp.spatial_vector, device="cpu")
    b = wp.array(np.arange(6.0)[None], dtype=wp.spatial_vector, device="cpu")
    zero = wp.zeros(1, dtype=wp.spatial_matrix, device="cpu")
    wp.launch(solve_all, dim=1, inputs=[zero, b], outputs=[x], device="cpu")
    np.testing.assert_array_equal(x.numpy()[0], np.arange(6.0))
