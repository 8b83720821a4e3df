// The largest of a window's places so far and which of them it is: the first of equals, or the first NaN. Behind what
// defines V, VW floats.
INLINE void keep_largest(V v, int place, V* best, JOIN(int, VW) * winner) {
  const JOIN(int, VW) takes = ~(*best >= v) & (*best == *best);
  *best = takes ? v : *best;
  *winner = takes ? (JOIN(int, VW))(place) : *winner;
}
