// The trees of every island as a list, in ascending order, once roots are known (islands.cpp, sparse_islands.cpp): next_tree
// leads from a root through its trees; last_tree leads back, and of a root names the last.
for (int t = 0; t < ntree; ++t) {
    const int first = root_of[t] = find(t);
    next_tree[t] = -1;
    last_tree[t] = t;
    if (first != t) {
        last_tree[t] = last_tree[first];
        last_tree[first] = t;
        next_tree[last_tree[t]] = t;
    }
}
