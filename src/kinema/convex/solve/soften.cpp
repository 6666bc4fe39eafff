// Softer rows for an H that rounding has spoilt (lost.cpp): beside rows that are too stiff what is left of M is rounding.
//
// A row whose inverse inertia was estimated as nothing has D = 1e15: one on a body that only turns about its middle, or on
// nodes of a quadratic flex whose shares cancel. Then all rows that give way by less than a millionth of what their dofs do
// become a thousand times softer, and again, but not softer than that. What they leave of accelerations is the same to as
// many digits as floats have; and they stay as stiff beside each other as they were, for where they disagree that decides.
const double STIFFEST = 1e6;
double soft = 1.0;
auto mend = [&]() -> bool {
    double changed = 0.0;
    soft *= 1e-3;
    KN_ROWS(k) {
        int head = k;
        while (kind_of(head) == CONE_TAIL) --head;  // friction has its share of what the normal has
        if (kind_of(head) == FRICTION_ROW) continue;
        double moves = 0.0;  // about J M^-1 J'
        for (int q = 0, n = ncol[head]; q < n; ++q) {
            const double entry = J[(size_t)head * width + q];
            moves += entry * entry / diagonal(col[(size_t)head * width + q]);
        }
        const double least = wp::min(1.0, STIFFEST / wp::max(1e-15, given[head] * moves));
        const float now = (float)(given[k] * wp::max(soft, least));
        if (now < D[k]) changed = 1.0;
        D[k] = now;
    }
    KN_SYNC();
    KN_ROWS(k) update(k);
    KN_SYNC();
    KN_WIDE_SUM(changed);
    return changed > 0.0;
};
