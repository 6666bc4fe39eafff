// Newton's direction x = -H^-1 g where rounding has spoilt H, for whoever factors H: island.cpp, primal.cpp, sparse.cpp.
//
// x'Mx <= x'Hx = -g'x. Where rounding of stiff rows has left H no longer positive, that does not hold, or x is no number.
// Such a direction is looked for again, as long as `mend` finds something to change:
//
//   longer.cpp   dense H: its diagonal becomes longer. Rows stay as stiff as they are
//   soften.cpp   rows that list their columns: those that are stiffer than floats can tell become softer
//
// Neither will do for the other. A diagonal that is longer by a part of D = 1e15 holds all that such a row touches, and the
// solve ends far from the minimum. Pyramids of little friction, which spoil a dense H, are 1e5 to 9e5 times as stiff as what
// they hold (two plates, friction 0.01): nothing that softening would begin with.
auto is_lost = [](line_t gx, line_t c2) -> bool { return !(gx < 0.0f && c2 < -4.0f * gx); };
