// What rows cost where vectors are doubles (sparse.cpp), on one CPU thread eight rows at a time, as eights.cpp does for
// floats. Rows of an island come in runs of neighbours. Eight neighbours go together where they are equalities, one-sided
// or springs, which are the same but for where they end:
//
//   held        1/2 D r^2                    equalities, springs
//   one-sided   1/2 D min(r, 0)^2            limits, pyramid edges, frictionless contacts
//
// Friction, cones and what is left of a run go one by one (update, along).

typedef double wide8 __attribute__((vector_size(64), aligned(8)));
typedef long long mask8 __attribute__((vector_size(64), aligned(8)));
typedef float narrow8 __attribute__((vector_size(32), aligned(4)));
typedef int number8 __attribute__((vector_size(32), aligned(4)));

bool cones = false;
for (int k = nef; k < nefc; ++k) cones |= is_elliptic(k);

auto in_eights = [&](int k, int end) -> bool { return k + 8 <= end && (k + 8 <= ne || (k >= nef && !cones)); };
auto wide_of = [](const float* p) -> wide8 { return __builtin_convertvector(*(const narrow8*)p, wide8); };
auto sum_wide = [](wide8 s) -> double { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); };
auto held = [&](int k) -> mask8 {
    if (k < ne) return mask8{} - 1;
    return __builtin_convertvector(*(const number8*)(type + k) == (int)Constraint::EQUALITY, mask8);
};

// change of the cost of a run from r to r + alpha v; its slope and curvature there are added to d1 and d2
auto along_run = [&](int begin, int end, double alpha, double& d1, double& d2) -> double {
    wide8 cost = {}, slope = {}, curve = {};
    double rest = 0.0;
    for (int k = begin; k < end;) {
        if (!in_eights(k, end)) { rest += along(k++, alpha, d1, d2); continue; }
        const mask8 always = held(k);
        const wide8 x = *(const wide8*)(r + k), by = *(const wide8*)(v + k), Dk = wide_of(D + k), y = x + alpha * by;
        const mask8 on = always | (y < 0.0);
        const wide8 hi = on ? y : wide8{}, lo = (always | (x < 0.0)) ? x : wide8{}, Dv = Dk * by;
        cost += 0.5 * Dk * (hi - lo) * (hi + lo);
        slope += hi * Dv;
        curve += on ? Dv * by : wide8{};
        k += 8;
    }
    d1 += sum_wide(slope);
    d2 += sum_wide(curve);
    return rest + sum_wide(cost);
};

// forces and zones of a run at r, and what it costs; moved: has a zone changed, or is it the middle of a cone?
auto settle_run = [&](int begin, int end, bool& moved) -> double {
    wide8 cost = {};
    number8 differ = {};
    double rest = 0.0;
    for (int k = begin; k < end;) {
        if (!in_eights(k, end)) {
            const int before = state[k];
            rest += update(k);
            moved |= state[k] != before || state[k] == ConstraintState::CONE;
            ++k;
            continue;
        }
        const wide8 x = *(const wide8*)(r + k), Dx = wide_of(D + k) * x;
        const mask8 on = held(k) | (x < 0.0);
        const number8 none = number8{} + (int)ConstraintState::SATISFIED;
        const number8 zone = __builtin_convertvector(on, number8) ? number8{} + (int)ConstraintState::QUADRATIC : none;
        cost += on ? 0.5 * Dx * x : wide8{};
        *(wide8*)(f + k) = on ? -Dx : wide8{};
        differ |= zone != *(const number8*)(state + k);
        *(number8*)(state + k) = zone;
        k += 8;
    }
    moved |= __builtin_reduce_or(differ) != 0;
    return rest + sum_wide(cost);
};

// Rows of a pyramid list the same columns: four of them read the vector once.
#if KN_LISTED
auto are_four = [&](int k, int end) -> bool {
    return k + 4 <= end && type[k] == Constraint::CONTACT_PYRAMIDAL && type[k + 3] == type[k] && id[k + 3] == id[k];
};
#endif
// out = J p of a run
auto multiply_run = [&](int begin, int end, const double* p, double* out) {
    for (int k = begin; k < end;) {
#if KN_LISTED
        if (are_four(k, end)) {
            const float *one = J + (size_t)k * width, *two = one + width, *three = two + width, *four = three + width;
            const int* at = col + (size_t)k * width;
            double s[4] = {};
            for (int q = 0, n = ncol[k]; q < n; ++q) {
                const double x = p[at[q]];
                s[0] += one[q] * x; s[1] += two[q] * x; s[2] += three[q] * x; s[3] += four[q] * x;
            }
            for (int i = 0; i < 4; ++i) out[k + i] = s[i];
            k += 4;
            continue;
        }
#endif
        out[k] = row_by(k, p);
        ++k;
    }
};
// out += sign J' by of a run
auto add_run = [&](int begin, int end, double* out, const double* by, double sign) {
    for (int k = begin; k < end;) {
#if KN_LISTED
        if (are_four(k, end)) {
            const float *one = J + (size_t)k * width, *two = one + width, *three = two + width, *four = three + width;
            const int* at = col + (size_t)k * width;
            const double s1 = sign * by[k], s2 = sign * by[k + 1], s3 = sign * by[k + 2], s4 = sign * by[k + 3];
            if (s1 != 0.0 || s2 != 0.0 || s3 != 0.0 || s4 != 0.0)
                for (int q = 0, n = ncol[k]; q < n; ++q)
                    out[at[q]] += (s1 * one[q] + s2 * two[q]) + (s3 * three[q] + s4 * four[q]);
            k += 4;
            continue;
        }
        if (by[k] != 0.0) {
            const float* row = J + (size_t)k * width;
            const int* at = col + (size_t)k * width;
            const double s = sign * by[k];
            for (int q = 0, n = ncol[k]; q < n; ++q) out[at[q]] += s * row[q];
        }
#else
        if (by[k] != 0.0) add_row_of(out, k, sign * by[k]);
#endif
        ++k;
    }
};
