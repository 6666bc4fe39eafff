// How a quaternion is moved by a step, q' = q (+) h v': dq' = exp(-h w') dq + Jr(h w') h dw'.
auto rotation = [&](int j, float* back, float* right) {  // exp(-t) and Jr(t) of t = h w', of a joint that turns freely
    const int i = m.jnt.dofadr.data[j] + (m.jnt.type.data[j] == Joint::FREE ? 3 : 0);
    float t[3], angle = 0.0f;
    for (int a = 0; a < 3; ++a) {
        t[a] = h * (KN_AT(d.state.qvel, i + a) + h * (KN_AT(d.frc.qacc, i + a) + chosen[i + a]));
        angle += t[a] * t[a];
    }
    angle = sqrtf(angle);
    const bool small = angle < 1e-2f;
    const float half = ::sinf(0.5f * angle), s = small ? 1.0f - angle * angle / 6.0f : ::sinf(angle) / angle;
    const float c = small ? 0.5f - angle * angle / 24.0f : 2.0f * half * half / (angle * angle);
    const float e = small ? 1.0f / 6.0f - angle * angle / 120.0f : (1.0f - s) / (angle * angle);
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            const float square = t[a] * t[b] - (a == b ? angle * angle : 0.0f);  // [t]x [t]x
            const float skew = a == b ? 0.0f : ((b - a + 3) % 3 == 1 ? -t[3 - a - b] : t[3 - a - b]);
            back[3 * a + b] = (a == b ? 1.0f : 0.0f) - s * skew + c * square;
            right[3 * a + b] = (a == b ? 1.0f : 0.0f) - c * skew + e * square;
        }
    return i;
};
auto turns_freely = [&](int j) -> bool { return m.jnt.type.data[j] == Joint::FREE || m.jnt.type.data[j] == Joint::BALL; };
float back[9], right[9];
