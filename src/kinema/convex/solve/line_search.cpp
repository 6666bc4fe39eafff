// The minimum along the search direction x, and the rule that ends the iterations: MuJoCo's, so that a search cut
// short, or a solve of few iterations, ends where MuJoCo's does. One text for a CPU thread and a CUDA warp.
//
// Newton steps on the slope run to one side until the slope changes its sign. Then three candidates narrow the bracket
// p1, p2: the Newton points of its ends, and its middle. Every evaluation counts; one call site keeps the code small.
// Numbers of the search are line_t, floats or doubles, as the residuals are: a row of no weight at rest has D = 1e15,
// whose curvature floats may not hold.

// Iterations end when gradient or gain, divided by the sum of the inertias (times scale), falls below the tolerance.
// Floats do not come as far as doubles, so a tolerance below 1e-6 is raised; but one large inertia, such as that about an
// axis nothing turns about, makes 1e-6 of the sum more than all forces at hand. So the raised limit is never more than
// 1e-6 of the size of what was added up: of the forces for a gradient, of the cost for a gain.

const float ls_tolerance = KN_ROW(float, m.opt.ls_tolerance)[0];
auto smallest = [&](float size) -> float {
    const float raised = KN_NEWTON ? 1e-6f : 1e-8f;
    return wp::max(tolerance, wp::min(raised, raised * scale * size)) / scale;
};
float least = 0.0f;  // gradient that counts as none

auto size_of = [](line_t number) -> line_t { return number < 0 ? -number : number; };

// A convex cost lies above its tangents: from 0 to alpha it changes by no less than alpha times its slope at 0, and no more
// than alpha times its slope there. What is evaluated beside a large cost is rounding where it says otherwise; then the mean
// of the two is taken, which is exact if the cost is quadratic.
auto convex_gain = [](line_t gain, line_t least, line_t most) -> line_t {
    return gain < least || gain > most ? (line_t)0.5 * (least + most) : gain;
};

// the step along x, 0 where no descent is left at this precision; c1 and c2 are the slope and curvature of the Gauss
// term, xx is |x|^2 and gx = g'x; gain is the change of cost
auto line_search = [&](line_t c1, line_t c2, line_t xx, line_t gx, line_t& gain) -> line_t {
    enum { START, FIRST, SIDE, NEXT, MIDDLE, END1, END2, DONE };
    struct Point { line_t alpha, gain, slope, curve; };
    Point p1, p2, q1, q2, mid, c1st, c2nd, best;
    int stage = START, count = 0, side = 0;
    bool moved1 = false, moved2 = false;
    line_t at = 0.0f, gtol = 0.0f;
#if defined(__CUDA_ARCH__) && KN_NEWTON
    // at 0 the slope is g'x, and the curvature x'Hx = -g'x: nothing need be evaluated
    gtol = wp::max((line_t)(ls_tolerance * least * sqrtf((float)xx)), (line_t)1e-5f * size_of(gx));
    p2.alpha = 0.0f; p2.gain = 0.0f; p2.slope = gx; p2.curve = -gx;
    best = p2;
    at = 1.0f; count = 1;
    stage = gx < 0.0f ? FIRST : DONE;
#endif
    auto close_to = [&](const Point& p) -> bool { return size_of(p.slope) < gtol; };
    auto nearer = [](Point& end, const Point& c) -> bool {
        const bool better = (end.slope < 0.0f && c.slope < 0.0f && end.slope < c.slope) ||
                            (end.slope > 0.0f && c.slope > 0.0f && end.slope > c.slope);
        if (better) end = c;
        return better;
    };
    auto narrow = [&](Point& end) -> bool {  // move an end of the bracket to the candidate nearest to the minimum
        const bool first = nearer(end, c1st), second = nearer(end, c2nd), third = nearer(end, mid);
        return first || second || third;
    };
    while (stage != DONE) {
        Point p;
        p.alpha = at;
        const line_t evaluated = evaluate(at, c1, c2, p.slope, p.curve);
        p.gain = convex_gain(evaluated, at * gx, at * p.slope);
        ++count;
        if (stage == START) {
            p.gain = 0.0f;
            best = p2 = p;
            gtol = wp::max((line_t)(ls_tolerance * least * sqrtf((float)xx)), (line_t)1e-5f * size_of(p.slope));
            at = -p.slope / p.curve;
            stage = p.slope < 0.0f ? FIRST : DONE;
            continue;
        }
        if (stage == FIRST || stage == SIDE) {
            p1 = p;
            if (stage == FIRST) side = p.slope < 0.0f ? 1 : -1;
            if (close_to(p)) { best = p; stage = DONE; }
            else if (p.slope * (line_t)side <= -gtol && count < m.opt.ls_iterations) { p2 = p; stage = SIDE; }
            else if (count >= m.opt.ls_iterations) { best = p; stage = DONE; }
            else { q2 = p; stage = NEXT; }
            at = p1.alpha - p1.slope / p1.curve;
            continue;
        }
        if (stage == NEXT) q1 = p;
        if (stage == MIDDLE) {
            mid = p;
            c1st = q1;
            c2nd = q2;
            if (close_to(mid)) { best = mid; stage = DONE; continue; }
            moved1 = narrow(p1);
            moved2 = narrow(p2);
            if (!moved1 && !moved2) { best = mid; stage = DONE; continue; }  // as near as numbers can tell
            if (moved1) { stage = END1; at = p1.alpha - p1.slope / p1.curve; continue; }
        }
        if (stage == END1) q1 = p;
        if (stage == END2) q2 = p;
        if ((stage == MIDDLE || stage == END1) && moved2) { stage = END2; at = p2.alpha - p2.slope / p2.curve; continue; }
        if (count >= m.opt.ls_iterations) {
            best = p1.gain <= p2.gain ? p1 : p2;
            if (!(best.gain < 0.0f)) best.alpha = 0.0f;
            stage = DONE;
        } else if (close_to(q1) || close_to(q2)) {
            best = close_to(q1) && !(close_to(q2) && q2.gain < q1.gain) ? q1 : q2;
            stage = DONE;
        } else {
            stage = MIDDLE;
            at = (line_t)0.5 * (p1.alpha + p2.alpha);
        }
    }
    gain = best.gain;
    return best.alpha;
};
// A search that ends for lack of evaluations may have gone past the start, to a step backwards, which MuJoCo takes as it
// is. Only a step of nothing ends the iterations; so does one that is no number.
auto is_no_step = [&](line_t alpha) -> bool { return !(size_of(alpha) > 0.0f); };
// where the gradient, whose square is gg, vanishes; forces is the square of what it is made of. Before the first step
// that alone does not end the search, unless the gradient is nothing that floats can tell: what the step would gain
// must be small as well
auto is_flat = [&](float gg, float forces) -> bool {
    least = smallest(sqrtf(forces));
    return sqrtf(gg) < least;
};
auto is_nothing = [&](float gg, float forces) -> bool {
    return sqrtf(gg) < wp::min(1e-6f / scale, 1e-6f * sqrtf(forces));
};
auto gains_little = [&](float gx) -> bool { return -0.5f * scale * gx < tolerance; };  // of a step x with g'x = gx
// after a step: a full one that changed no zone has landed on the minimum of a quadratic
auto lands = [&](bool changed, float alpha) -> bool { return KN_NEWTON && !changed && fabsf(alpha - 1.0f) < 1e-3f; };
// a search cut short may end higher than it began: only a rise that rounding explains is an end
const line_t of_rounding = sizeof(line_t) > sizeof(float) ? (line_t)1e-12 : (line_t)1e-6f;
auto is_rise = [&](line_t gain, line_t cost) -> bool { return gain > of_rounding * cost; };
auto is_minimum = [&](bool changed, float alpha, float gain, float cost) -> bool {
    return lands(changed, alpha) || (-gain < smallest(cost) && !is_rise(gain, cost));
};

// The force of all rows is J' f, unless rounding of stiff rows has spoilt it: at the minimum M (a - a_s) is the same
// force. So it is where the tolerance was raised and iterations are left: MuJoCo goes on until J' f is that, of which a
// stiff row lacks much when the acceleration has all its digits. Else rounding is to blame where what they differ by is
// no more than the rounding of r = J a - aref, times D, times J'. Where the search just ended early, as with few
// iterations or a loose tolerance, they differ as well, and J' f is MuJoCo's answer.
const bool is_raised = tolerance < 1e-6f;
auto differs = [&](float rest, float size) -> bool {  // squares of what the two differ by, and of M (a - a_s)
    return rest > 1e-6f * size && scale * sqrtf(rest) > 10.0f * wp::max(tolerance, 1e-6f);
};
auto row_noise = [](float D, float terms, float length) -> float {  // of one row: sum of |J a| and |aref|, and |J|^2
    return 5e-7f * D * terms * sqrtf(length);
};
