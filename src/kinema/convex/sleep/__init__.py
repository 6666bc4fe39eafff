"""Trees that have come to rest are put to sleep, and cost next to nothing until something wakes them.

    tree_asleep   -11 ... -1   awake; it counts up at every step that finds the tree slow, and at -1 the tree is ready
                  0 or more    asleep: the next tree of those that fell asleep with it, in a ring

Trees that rows couple sleep together, or not at all. A ring is woken as a whole: by a write to its positions,
velocities or applied forces, by a contact with somebody awake, by an equality or a tendon at its limit.

MuJoCo puts trees to sleep at the end of a step (mj_sleep), and then computes all that depends on velocity once more.
But who falls asleep follows from the velocities and the rows that the step began with. So here it is decided before
anything that depends on velocity is computed, and once is enough.

    sleepers.py   whom sensors, actuators and trees depend on
    rings.py      who is awake, the lists of it, and rings
    wake.py       what wakes trees
    fall.py       which trees fall asleep
    awake.py      stages over what is awake
"""
