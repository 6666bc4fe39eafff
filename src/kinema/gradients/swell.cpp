// The inertia behind dof i, seen along it, changes with the dofs behind i alone: all others move both. For dof k it is
//
//   dM_i/dq_k = S_i . (dI S_i),   dI = S_k x* I - I S_k x:   dc = w x c + m u,  dJ = w x J - J w x + 2 (c.u) - c u' - u c'
//
// with (w, u) = S_k and I = (J, c, m) what is behind k.
auto each_swell = [&](int k, auto take) {  // take(i, dM_i/dq_k)
    const int joint = m.dof.jntid.data[k], kind = m.jnt.type.data[joint];
    const int group = m.jnt.dofadr.data[joint] + (kind == Joint::FREE ? 3 : 0);
    const bool turns = (kind == Joint::BALL || kind == Joint::FREE) && k >= group;
    const float *s = cdof_of(k), *I = &KN_AT(d.inertia.crb, m.dof.bodyid.data[k]), *u = s + 3, *c = I + 6;
    const float dc[3] = {s[1] * c[2] - s[2] * c[1] + I[9] * u[0], s[2] * c[0] - s[0] * c[2] + I[9] * u[1],
                         s[0] * c[1] - s[1] * c[0] + I[9] * u[2]};
    const float inner = 2.0f * dot3(c, u);
    const float xx = 2.0f * (s[1] * I[4] - s[2] * I[3] - c[0] * u[0]) + inner;
    const float yy = 2.0f * (s[2] * I[3] - s[0] * I[5] - c[1] * u[1]) + inner;
    const float zz = 2.0f * (s[0] * I[5] - s[1] * I[4] - c[2] * u[2]) + inner;
    const float xy = s[1] * I[5] - s[2] * I[1] + s[2] * I[0] - s[0] * I[4] - c[0] * u[1] - c[1] * u[0];
    const float xz = s[1] * I[2] - s[2] * I[5] + s[0] * I[3] - s[1] * I[0] - c[0] * u[2] - c[2] * u[0];
    const float yz = s[2] * I[4] - s[0] * I[2] + s[0] * I[1] - s[1] * I[3] - c[1] * u[2] - c[2] * u[1];
    for (int i = m.dof.parentid.data[k]; i >= 0; i = m.dof.parentid.data[i]) {
        if (turns && i >= group) continue;
        const float *a = cdof_of(i), *b = a + 3;
        take(i, xx * a[0] * a[0] + yy * a[1] * a[1] + zz * a[2] * a[2]
            + 2.0f * (xy * a[0] * a[1] + xz * a[0] * a[2] + yz * a[1] * a[2])
            + 2.0f * (a[0] * (dc[1] * b[2] - dc[2] * b[1]) + a[1] * (dc[2] * b[0] - dc[0] * b[2]) + a[2] * (dc[0] * b[1] - dc[1] * b[0])));
    }
};
