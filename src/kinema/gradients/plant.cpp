// Give numbers their derivative along a direction, by a table of seeds: rows `begin` to `end`.
//
// A row: where, bytes to the next world, what, bytes of a plain and of a wide number, which direction, how much (the bits
// of a float). What: 0, a number, that much more; 1 to 3, a unit quaternion that turns about an axis of its own frame, dq = q (0, e) / 2.
for (int row = begin; row < end; ++row) {
    const long long* r = (const long long*)((const char*)table.data + row * (size_t)table.strides[0]);
    char* x = (char*)r[0] + w * r[1];
    const int what = (int)r[2], plain = (int)r[3], wide = (int)r[4], lane = (int)r[5];
    auto value = [&](int k) -> float { return *(float*)(x + k * wide); };
    auto tangent = [&](int k) -> float& { return *(float*)(x + k * wide + plain + 4 * lane); };
    if (what == 0) tangent(0) += *(const float*)(r + 6);
    else {
        const float q0 = value(0), q1 = value(1), q2 = value(2), q3 = value(3);
        const float s = 0.5f / ::sqrtf(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3);
        const float e1 = what == 1 ? s : 0.0f, e2 = what == 2 ? s : 0.0f, e3 = what == 3 ? s : 0.0f;
        tangent(0) = -q1 * e1 - q2 * e2 - q3 * e3;
        tangent(1) = q0 * e1 + q2 * e3 - q3 * e2;
        tangent(2) = q0 * e2 + q3 * e1 - q1 * e3;
        tangent(3) = q0 * e3 + q1 * e2 - q2 * e1;
    }
}
