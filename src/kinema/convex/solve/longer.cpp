// A longer diagonal for an H that rounding has spoilt (lost.cpp): by a part that grows until it will do. Without rounding the
// part is 0, and so it is again after the step.
const float LONGEST = 0.1f;
float shift = 0.0f;
auto mend = [&]() -> bool {
    if (!(shift < LONGEST)) return false;
    shift = shift > 0.0f ? 30.0f * shift : 1e-6f;
    return true;
};
// a direction that promised much more than it gave, -g'x / 2 of the quadratic, was spoilt as well, and is no end; unless
// it promised no more than rounding makes of the cost
auto has_failed = [&](line_t gx, float alpha, float gain, float cost) -> bool {
    return KN_NEWTON && -0.5f * gx > 100.0f * wp::max(1e-6f * cost, -gain) && !lands(false, alpha);
};
