// Collect the derivatives of results along the directions of a group into columns of out[w], by a table of results.
//
// Rows as in plant.cpp, without the direction; the derivative of a quaternion is the rate of its turn in its own frame,
// 2 q* dq. columns[group, k] is the column of direction k, -1: it is not used. Thread `lane` of `lanes` takes every so
// manieth row.
const int width = columns.shape[1];
const int* column = (const int*)((const char*)columns.data + group * (size_t)columns.strides[0]);
for (int row = lane; row < table.shape[0]; row += lanes) {
    char* target = (char*)out.data + w * (size_t)out.strides[0] + row * (size_t)out.strides[1];
    const long long* r = (const long long*)((const char*)table.data + row * (size_t)table.strides[0]);
    const char* x = (const char*)r[0] + w * r[1];
    const int what = (int)r[2], plain = (int)r[3], wide = (int)r[4];
    auto value = [&](int k) -> float { return *(const float*)(x + k * wide); };
    auto tangents = [&](int k) -> const float* { return (const float*)(x + k * wide + plain); };
    if (what == 0) {
        const float* t = tangents(0);
        for (int k = 0; k < width; ++k)
            if (column[k] >= 0) *(float*)(target + column[k] * (size_t)out.strides[2]) = t[k];
    } else {
        const float q0 = value(0), q1 = value(1), q2 = value(2), q3 = value(3);
        const float *t0 = tangents(0), *t1 = tangents(1), *t2 = tangents(2), *t3 = tangents(3);
        for (int k = 0; k < width; ++k)
            if (column[k] >= 0) {
                float y;
                if (what == 1) y = q0 * t1[k] - q1 * t0[k] - q2 * t3[k] + q3 * t2[k];
                else if (what == 2) y = q0 * t2[k] - q2 * t0[k] - q3 * t1[k] + q1 * t3[k];
                else y = q0 * t3[k] - q3 * t0[k] - q1 * t2[k] + q2 * t1[k];
                *(float*)(target + column[k] * (size_t)out.strides[2]) = 2.0f * y;
            }
    }
}
