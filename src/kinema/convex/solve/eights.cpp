// What rows cost, on one CPU thread eight rows at a time: rows of all kinds are the same instructions, and none is guessed.
// The maths is in cone.cpp; cones are left to it contact by contact. Rows of an island come in runs of neighbours
// (islands.cpp). The last eight of a run begin early enough to lie within the arrays, and what is of no concern to the
// run is masked.

#undef KN_EIGHTS
#define KN_EIGHTS(k, end) KN_RUNS(b_##k, end) for (int k = b_##k; k < end; k += 8)

const ivec8 EIGHT = {0, 1, 2, 3, 4, 5, 6, 7};
const int room = d.efc.D.shape[1];
auto place_of = [&](int k) -> int { return wp::max(wp::min(k, room - 8), 0); };  // of the eight that have row k
auto floats_of = [&](const float* p, int at) -> vec8 {
    if (room >= 8) return *(const vec8*)(p + at);
    vec8 x = {};
    for (int i = 0; i < room; ++i) x[i] = p[i];
    return x;
};
auto ints_of = [&](const int* p, int at) -> ivec8 { return (ivec8)floats_of((const float*)p, at); };
auto put_floats = [&](float* p, int at, ivec8 live, vec8 x) {
    if (room >= 8) *(vec8*)(p + at) = live ? x : *(const vec8*)(p + at);
    else for (int i = 0; i < room; ++i) if (live[i]) p[i] = x[i];
};
auto put_ints = [&](int* p, int at, ivec8 live, ivec8 x) { put_floats((float*)p, at, live, (vec8)x); };
auto all_of = [](int i) -> ivec8 { return ivec8{} + i; };
auto within = [&](int at, int k, int end) -> ivec8 { return (at + EIGHT >= k) & (at + EIGHT < end); };

bool cones = false;
for (int k = nef; k < nefc; ++k) cones |= is_elliptic(k);

struct Alone { vec8 D, low, high, f, bound; ivec8 live, friction; };  // eight rows, of which live ones are no cones
auto alone = [&](int at, int k, int end) -> Alone {
    Alone e;
    const ivec8 row = at + EIGHT;
    e.live = within(at, k, end);
    if (cones) e.live &= ints_of(type, at) != (int)Constraint::CONTACT_ELLIPTIC;
    e.D = floats_of(D, at);
    e.friction = (row >= ne) & (row < nef);
    e.f = e.friction ? floats_of(loss, at) : vec8{};
    const vec8 far = vec8{} + INFINITY;
    e.bound = floats_of(R, at) * e.f;
    e.low = e.friction ? -e.bound : -far;
    e.high = row >= nef ? vec8{} : e.friction ? e.bound : far;
    return e;
};
auto beyond = [&](const Alone& e, vec8 r) -> ivec8 { return rows_beyond(r, e.low, e.high); };
auto cost_of = [&](const Alone& e, vec8 r, ivec8 outside) -> vec8 {
    return rows_cost(r, e.D, e.f, e.bound, e.friction, outside);
};
// forces and zones of the rows of a run, and what they cost; moved: whose zone has changed, or is the middle of a cone
auto settle = [&](int begin, int end, bool& moved) -> float {
    vec8 cost = {};
    ivec8 differ = {};
    for (int k = begin; k < end; k += 8) {
        const int at = place_of(k);
        const Alone e = alone(at, k, end);
        const vec8 y = floats_of(r, at);
        const ivec8 below = y <= e.low, outside = beyond(e, y), before = ints_of(state, at);
        const ivec8 linear = below ? all_of(ConstraintState::LINEARNEG) : all_of(ConstraintState::LINEARPOS);
        const ivec8 zone = outside ? (e.friction ? linear : all_of(ConstraintState::SATISFIED))
                                   : all_of(ConstraintState::QUADRATIC);
        cost += e.live ? cost_of(e, y, outside) : vec8{};
        differ |= e.live & (zone != before);
        put_floats(force, at, e.live, 0.0f - rows_slope(y, e.D, e.f, e.low, outside));
        put_ints(state, at, e.live, zone);
    }
    moved |= __builtin_reduce_or(differ) != 0;
    float sum = sum8(cost);
    if (cones)
        for (int k = wp::max(begin, nef); k < end; ++k)
            if (kind_of(k) == CONE_HEAD) {
                const int before = state[k];
                sum += update(k);
                moved |= state[k] != before || state[k] == ConstraintState::CONE;
            }
    return sum;
};
