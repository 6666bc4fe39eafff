// The forces of all rows of world w, by one thread: efc.force holds their residuals, J a - aref, and gets the forces.

#include "lanes.cpp"
#include "rows.cpp"

const float* D = KN_ROW(float, d.efc.D);
for (int i = 0; i < nefc; ++i) {
    const int kind = kind_of(i), c = id[i];
    int zone;
    if (kind < CONE_HEAD) row_cost(kind, force[i], D[i], loss[i], R[i] * loss[i], force[i], zone);
    else if (kind == CONE_HEAD)
        cone_cost(force + i, D + i, mu_of(c), friction_of(c), dim_of(c), force + i, zone);
}
