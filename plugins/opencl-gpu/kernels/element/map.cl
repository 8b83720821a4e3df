// A map, as sources.cc writes it:
//   POINTERS          of the operands and results
//   RUN(i, n)         how many of the n elements from i on what is read by index lies side by side for, or is one
//   BASES(i)          where such a run begins
//   VALUES(i, k)      what is computed of element i + k of the run that begins at i
//   STORES(i, k)      and kept
__kernel void map(ulong n, PARAMETERS) {
  POINTERS
#ifdef SHAPE_CPU
  const ulong end = n * (get_group_id(0) + 1) / get_num_groups(0);
  ulong run;
  for (ulong i = n * get_group_id(0) / get_num_groups(0); i < end; i += run) {
    run = RUN(i, end - i);
    BASES(i)
    INDEPENDENT
    for (ulong k = 0; k < run; ++k) {
      VALUES(i, k)
      STORES(i, k)
    }
  }
#else
  EACH(i, n) {
    BASES(i)
    VALUES(i, 0)
    STORES(i, 0)
  }
#endif
}
