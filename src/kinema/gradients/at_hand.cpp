// What is given of a world, by the names of the formulas.
const bool constrained = !(m.opt.disableflags & Disable::CONSTRAINT);
const int ncon = constrained && !(m.opt.disableflags & Disable::CONTACT) ? KN_ROW(int, d.con.ncon)[0] : 0;
const float* D = KN_ROW(float, d.efc.D);
const float* aref = KN_ROW(float, d.efc.aref);
const float* row_slope = (const float*)((const char*)slopes.data + (size_t)slot * slopes.strides[0]);  // row_slopes.py
auto anchor_of = [&](int e) -> const float* {  // anchor_slopes.py
    return (const float*)((const char*)points.data + slot * (size_t)points.strides[0] + e * (size_t)points.strides[1]);
};
auto address_of = [&](int c) -> int { return KN_INT(d.crow.address, c); };
auto frame_of = [&](int c) -> const float* { return &KN_AT(d.con.frame, c); };
auto is_pyramid = [&](int row) -> bool { return type[row] == Constraint::CONTACT_PYRAMIDAL; };

// forces of a contact along and about the axes of its frame
auto forces_of = [&](int c, int row, float* phi) {
    const int dim = dim_of(c);
    const bool pyramid = is_pyramid(row);
    phi[0] = pyramid ? 0.0f : force[row];
    for (int i = 1; i < 6; ++i) {
        phi[i] = 0.0f;
        if (i >= dim) continue;
        if (pyramid) {
            const float up = force[row + 2 * i - 2], down = force[row + 2 * i - 1];
            phi[0] += up + down;
            phi[i] = friction_of(c)[i - 1] * (up - down);
        } else phi[i] = force[row + i];
    }
};

// the rows of a table (coloring.py); of those that share a column, and a dof if asked, one lane takes all
auto each_entry = [&](const auto& table, bool by_dof, auto use) {
    const int rows = table.shape[0];
    auto entry = [&](int k) -> const int* { return (const int*)((const char*)table.data + k * (size_t)table.strides[0]); };
    auto alike = [&](int i, int j) -> bool { return entry(i)[1] == entry(j)[1] && (!by_dof || entry(i)[0] == entry(j)[0]); };
    KN_EACH(k, rows) {
        if (k && alike(k, k - 1)) continue;
        for (int i = k; i < rows && alike(i, k); ++i) use(entry(i));
    }
};

const int colors = colored.shape[2];
const float* local = (const float*)((const char*)colored.data + (size_t)w * colored.strides[0]);  // coloring.py
const char *geometry_dist = (const char*)places.data[0], *geometry_pos = (const char*)places.data[3];
const char* geometry_frame = (const char*)places.data[6];
const long long dist_world = places.data[1], dist_item = places.data[2], pos_world = places.data[4], pos_item = places.data[5];
const long long frame_world = places.data[7], frame_item = places.data[8];
const int number = (int)places.data[9];  // floats of a dual
const bool split = places.data[10] != 0;  // four directions each, one after the other (moving_pairs.py)
const char* slope_of_dofs = (const char*)places.data[11];  // qDeriv (others.py)
const long long slope_world = places.data[12], slope_item = places.data[13];
const float h = *(const float*)((const char*)m.opt.timestep.data + (size_t)w * m.opt.timestep.strides[0]);
