// A product with the transposed derivatives, l -> A'l, B'l, begins where a step ends (transition.cpp). With u = what l
// makes of v', through q' as well,
//
//   z = Mh^-1 h u,   y = H^-1 (h u - N z)
//   result = y' (right side) - z' (d(M e) + dN a') + what passes through directly
//
// y and z are motions of all dofs. What a force changes by is then never asked dof by dof: it is the power of that change
// along y, summed where it acts (tree_product.cpp and others).
KN_EACH(i, nv) { y[i] = l[nv + i] + h * l[i]; passed[i] = l[i]; }
KN_SYNC();
KN_EACH(j, m.size.njnt) {
    if (!turns_freely(j)) continue;
    float back[9], right[9];
    const int i = rotation(j, back, right);
    for (int a = 0; a < 3; ++a) {
        y[i + a] = l[nv + i + a] + h * (right[a] * l[i] + right[3 + a] * l[i + 1] + right[6 + a] * l[i + 2]);
        passed[i + a] = back[a] * l[i] + back[3 + a] * l[i + 1] + back[6 + a] * l[i + 2];
    }
}
KN_SYNC();
KN_EACH(i, nv) z[i] = damped ? h * y[i] : 0.0f;
KN_SYNC();
if (damped) apply_inverse(Mh, z);
KN_EACH(b, nalone) {
    float *inverse = lone + 72 * b + 36, *x = z + alone.data[b], s[6] = {};
    for (int k = 0; k < 36; ++k) s[k % 6] += inverse[k] * x[k / 6];
    for (int k = 0; k < 6; ++k) x[k] = s[k];
}
KN_SYNC();
KN_EACH(i, nv) { passed[nv + i] = y[i]; y[i] = h * y[i] - damp[i] * z[i]; }
KN_SYNC();
if (lane == 0) {
    each_pair([&](int i, int j, float n) { y[i] -= n * z[j]; y[j] -= n * z[i]; });
    for (int b = 0; b < nalone; ++b)
        for (int k = 0; k < 36; ++k) y[alone.data[b] + k % 6] -= lone[72 * b + k] * z[alone.data[b] + k / 6];
}
KN_SYNC();
prepare(H);
apply_inverse(H, y);
if (lane == 0)
    each_free([&](int first, const float* inverse) {
        float s[6] = {};
        for (int k = 0; k < 36; ++k) s[k % 6] += inverse[k] * y[first + k / 6];
        for (int k = 0; k < 6; ++k) y[first + k] = s[k];
    });
KN_SYNC();
