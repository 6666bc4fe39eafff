// Copy plain numbers to duals without derivatives, by a table of arrays: rows `begin` to `end`. Of each array thread `lane` of
// `lanes` takes every so manieth element.
//
// A row: from, to, bytes to the next world of each, kind, count, bytes of a plain and of a wide number, four lengths, four
// strides from, four strides to. Numbers of an element lie together.
for (int row = begin; row < end; ++row) {
    const long long* r = (const long long*)((const char*)table.data + row * (size_t)table.strides[0]);
    const char* from = (const char*)r[0] + w * r[2];
    char* to = (char*)r[1] + w * r[3];
    const int kind = (int)r[4], count = (int)r[5], plain = (int)r[6], wide = (int)r[7];
    const long long *n = r + 8, *s = r + 12, *t = r + 16;
    auto copy = [&](const char* x, char* y) {
        if (kind == 0) *(float*)y = *(const float*)x;
        else if (kind == 1) *(double*)y = *(const double*)x;
        else if (plain == 4) *(int*)y = *(const int*)x;
        else if (plain == 8) *(long long*)y = *(const long long*)x;
        else *y = *x;
        for (int q = plain; q < wide; q += 4) *(float*)(y + q) = 0.0f;
    };
    if (lanes > 1) {
        const int n3 = (int)n[3], n2 = (int)n[2], n1 = (int)n[1], all = (int)n[0] * n1 * n2 * n3 * count;
        for (int k = lane; k < all; k += lanes) {
            const int number = k % count, e = k / count % n3, c = k / count / n3 % n2;
            const int b = k / count / n3 / n2 % n1, a = k / count / n3 / n2 / n1;
            copy(from + a * s[0] + b * s[1] + c * s[2] + e * s[3] + number * plain,
                 to + a * t[0] + b * t[1] + c * t[2] + e * t[3] + number * wide);
        }
        continue;
    }
    for (long long a = 0; a < n[0]; ++a)
        for (long long b = 0; b < n[1]; ++b)
            for (long long c = 0; c < n[2]; ++c)
                for (long long e = 0; e < n[3]; ++e) {
                    const char* x = from + a * s[0] + b * s[1] + c * s[2] + e * s[3];
                    char* y = to + a * t[0] + b * t[1] + c * t[2] + e * t[3];
                    for (int k = 0; k < count; ++k, x += plain, y += wide) copy(x, y);
                }
}
