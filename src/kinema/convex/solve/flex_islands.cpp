// What couples trees of flexes beside the columns that rows list, for whoever can `unite` trees: stiffness couples all trees
// of a flex, under every integrator, and a contact those of all vertices of its element, whatever share they have in it.
// KN_SHARE goes through items: all of them, or those that are this thread's.
{
    const int* list = m.flex.bodypoint.data + m.size.nflextreeadr;  // sleep/flexes.py, tree_list
    for (int f = 0; f < m.flex.span.shape[0]; ++f) {
        const int first = list[3 * f], number = list[3 * f + 1];
        if (list[3 * f + 2] != 0)
            KN_SHARE(q, number) if (q > 0) unite(list[first], list[first + q]);
    }
    KN_SHARE(k, nefc) {
        if (type[k] < Constraint::CONTACT_FRICTIONLESS) continue;
        const int contact = id[k];
        if (k > 0 && type[k - 1] >= Constraint::CONTACT_FRICTIONLESS && id[k - 1] == contact) continue;  // one row will do
        int t = ncol[k] > 0 ? tree_of[col[(size_t)k * width]] : -1;
        for (int side = 0; side < 2; ++side) {
            const int f = ((const int*)&KN_AT(d.fcon.flex, contact))[side], e = ((const int*)&KN_AT(d.fcon.elem, contact))[side];
            for (int q = 0; q < 4 && f >= 0 && e >= 0; ++q) {
                const int v = m.flex.elemvert.data[m.flex.span.data[f][2] + e][q];
                const int body = v < 0 ? -1 : m.flex.point.data[v][1];  // interpolated vertices have none
                const int u = body < 0 ? -1 : m.body.treeid.data[body];
                if (t >= 0 && u >= 0) unite(t, u);
                if (u >= 0) t = u;
            }
        }
    }
}
