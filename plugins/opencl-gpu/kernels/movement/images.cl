// crop_flip, resize and affine_image: y [n,h,w,c] from x [n,from_h,from_w,c]. A CPU's work item has rows of y, a GPU's
// pixels.
typedef struct {
  long n, h, w, c, from_h, from_w;
} Images;

#ifdef SHAPE_CPU
#define EACH_PIXEL(row, column) EACH(row, (ulong)(s.n * s.h)) for (long column = 0; column < s.w; ++column)
#else
#define EACH_PIXEL(row, column)          \
  EACH(pixel, (ulong)(s.n * s.h * s.w))  \
  for (long row = pixel / s.w, column = pixel % s.w, once = 1; once; once = 0)
#endif

#ifdef E
// E: unsigned integer of an element's width; OFFSET: dtype of top and left. Places outside give 0.
__kernel void crop_flip(MEM(y), MEM(x), MEM(top), MEM(left), MEM(flip), Images s, int flips) {
  EACH_PIXEL(row, column) {
    const long n = row / s.h, c = flips && POINTER(const uchar, flip)[n] ? s.w - 1 - column : column;
    // far offsets are cut before they are added to
    const long r = clamp((long)POINTER(const STORED(OFFSET), top)[n], -s.h, s.from_h) + row % s.h;
    const long k = clamp((long)POINTER(const STORED(OFFSET), left)[n], -s.w, s.from_w) + c;
    const int inside = r >= 0 && r < s.from_h && k >= 0 && k < s.from_w;
    const __global E* x = POINTER(const E, x) + (inside ? ((n * s.from_h + r) * s.from_w + k) * s.c : 0);
    __global E* y = POINTER(E, y) + (row * s.w + column) * s.c;
    for (long i = 0; i < s.c; ++i) y[i] = inside ? x[i] : 0;
  }
}
#else
typedef WIDE(ACC) W;
typedef const __global STORED(X) * From;

#ifdef RESIZE
// Along an axis result i lies at (i up + shift) / down of x: exact, without floats. NEAREST, FLOOR: what it picks.
typedef struct {
  long up, shift, down;
} Places;
typedef struct {
  long low, high;
  W part;
} Tap;

static inline long divided(long a, long b) { return a / b - (a % b < 0); }

static inline Tap tap_of(Places p, long i, long from) {
  Tap t;
  const long at = i * p.up + p.shift;
#ifdef NEAREST
  t.low = t.high = clamp(FLOOR ? divided(at, p.down) : divided(2 * at + p.down, 2 * p.down), 0L, from - 1);
  t.part = 0;
#else
  const long whole = divided(at, p.down);
  t.low = clamp(whole, 0L, from - 1);
  t.high = clamp(whole + 1, 0L, from - 1);
  t.part = (W)(at - whole * p.down) / (W)p.down;
#endif
  return t;
}

__kernel void resize(MEM(y), MEM(x), Images s, Places rows, Places columns) {
  EACH_PIXEL(row, column) {
    const Tap r = tap_of(rows, row % s.h, s.from_h), c = tap_of(columns, column, s.from_w);
    From x = POINTER(const STORED(X), x) + row / s.h * s.from_h * s.from_w * s.c;
    __global STORED(X)* y = POINTER(STORED(X), y) + (row * s.w + column) * s.c;
    From top = x + r.low * s.from_w * s.c;
#ifdef NEAREST
    for (long i = 0; i < s.c; ++i) y[i] = top[c.low * s.c + i];
#else
    From bottom = x + r.high * s.from_w * s.c;
    const long low = c.low * s.c, high = c.high * s.c;
    for (long i = 0; i < s.c; ++i) {
      const W a = LOAD(X, top, low + i) * (1 - c.part) + LOAD(X, top, high + i) * c.part;
      const W b = LOAD(X, bottom, low + i) * (1 - c.part) + LOAD(X, bottom, high + i) * c.part;
      STORE(X, y, i, a * (1 - r.part) + b * r.part);
    }
#endif
  }
}
#else
typedef WIDE(THETA) P;  // places

// FILL: 0 nothing, 1 the edge, 2 the mirrored, 3 the repeated image; as ImageProjectiveTransformV3 does.
static inline P folded(P at, long size) {
#if FILL == 0
  return at;
#else
  const P n = size, last = size - 1;
#if FILL == 2
  if (size > 1) {
    if (at < 0) {
      const P low = at + 2 * n * floor(-at / (2 * n));
      at = low < -n ? low + 2 * n : -low - 1;
    } else {
      const P high = at - 2 * n * floor(at / (2 * n));
      at = high < n ? high : 2 * n - high - 1;
    }
  }
#elif FILL == 3
  if (size > 1) at = at < 0 ? at + n * (floor(-at / last) + 1) : at > last ? at - n * floor(at / last) : at;
#endif
  return at != at ? at : clamp(at, (P)0, last);
#endif
}

// Where the pixel of x at whole places begins; -1 outside.
static inline long pixel_at(const Images* s, P row, P column) {
  if (!(row >= 0 && column >= 0 && row < s->from_h && column < s->from_w)) return -1;
  return ((long)row * s->from_w + (long)column) * s->c;
}

__kernel void affine_image(MEM(y), MEM(x), MEM(theta), Images s) {
  EACH_PIXEL(row, column) {
    const __global STORED(THETA)* theta = POINTER(const STORED(THETA), theta) + row / s.h * 8;
    P t[8];
    for (int i = 0; i < 8; ++i) t[i] = LOAD(THETA, theta, i);
    const P c = column, r = row % s.h, k = t[6] * c + t[7] * r + 1;
    const P at_c = folded((t[0] * c + t[1] * r + t[2]) / k, s.from_w);
    const P at_r = folded((t[3] * c + t[4] * r + t[5]) / k, s.from_h);
    const int good = k != 0 && fabs(at_c) < (P)1e9f && fabs(at_r) < (P)1e9f;  // elsewhere it is far outside
    From x = POINTER(const STORED(X), x) + row / s.h * s.from_h * s.from_w * s.c;
    __global STORED(X)* y = POINTER(STORED(X), y) + (row * s.w + column) * s.c;
#ifdef NEAREST
    const long at = good ? pixel_at(&s, floor(at_r + (P)0.5f), floor(at_c + (P)0.5f)) : -1;
    for (long i = 0; i < s.c; ++i) y[i] = at < 0 ? 0 : x[at + i];
#else
    const P r0 = floor(at_r), c0 = floor(at_c);
    const W down = (W)(at_r - r0), right = (W)(at_c - c0);
    long at[4];
    W weight[4];
    for (int tap = 0; tap < 4; ++tap) {
      at[tap] = good ? pixel_at(&s, r0 + tap / 2, c0 + tap % 2) : -1;
      weight[tap] = (tap / 2 ? down : 1 - down) * (tap % 2 ? right : 1 - right);
    }
    for (long i = 0; i < s.c; ++i) {
      W sum = 0;
      for (int tap = 0; tap < 4; ++tap)
        if (at[tap] >= 0) sum += weight[tap] * LOAD(X, x, at[tap] + i);
      STORE(X, y, i, sum);
    }
#endif
  }
}
#endif
#endif
