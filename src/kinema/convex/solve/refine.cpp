// Newton's direction to the last digits that floats have: iterative refinement of H x = -g.
//
// A stiff row adds D J' J to M, and what is small of M beside it is rounded away: with D 1e6 times the inertia, H knows M
// to a few per cent, and so does the direction in which the row leaves the dofs free. The gradient, made of forces D r far
// from the minimum, loses as much. Both are whole where the step ends: with the zones of the rows as they are, solve again
// for the gradient that is left there,
//
//   H dx = -(M (a + x) - M a_s + J' s'(r + J x)),    s' = D (r + J x), or -f + W J x in the middle of a cone
//
// The factor only has to be good enough to converge. Models of few iterations end where MuJoCo's doubles do.
const int TURNS = 6;
auto is_stiff = [&]() -> bool {  // asked before H is factored
    KN_DOFS(i) if (H[(size_t)(i - origin) * (pitch + 1)] > 3e3f * inertia_of(i)) return true;
    return false;
};
auto refine = [&](float* x, float* dx) {
    for (int turn = 0; turn < TURNS; ++turn) {
        KN_ROWS(k) v[k] = row_times(k, x);
        KN_EIGHTS(k, end) {  // v = s'(r + J x)
            const int at = place_of(k);
            const ivec8 zone = ints_of(state, at), live = within(at, k, end) & (zone != (int)ConstraintState::CONE);
            const vec8 pull = floats_of(D, at) * (floats_of(r, at) + floats_of(v, at));
            put_floats(v, at, live, zone == (int)ConstraintState::QUADRATIC ? pull : -floats_of(force, at));
        }
        if (cones) KN_ROWS(k) {
            if (state[k] == ConstraintState::CONE && kind_of(k) == CONE_HEAD) {
                const Cone e = contact_cone(k);
                float along[6];
                for (int p = 0; p < e.dim; ++p) along[p] = v[k + p];
                for (int p = 0; p < e.dim; ++p) {
                    v[k + p] = -force[k + p];
                    for (int q = 0; q < e.dim; ++q) v[k + p] += cone_entry(e, p, q) * along[q];
                }
            }
        }
        KN_DOFS(i) dx[i] = KN_AT(KN_SMOOTH, i) - Ma[i] - mass_times(i, x);
        KN_ROWS(k) if (v[k] != 0.0f) add_row(dx, k, -v[k]);
        solve(dx);
        float change = 0.0f, size = 0.0f;
        KN_DOFS(i) { x[i] += dx[i]; change += dx[i] * dx[i]; size += x[i] * x[i]; }
        if (change <= 1e-10f * size) break;
    }
};
