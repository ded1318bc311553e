// A stroke font drawn for captions: ASCII and the few signs that measurements need.
//
// A glyph is a list of strokes parted by spaces; a stroke is a list of points, a digit for x and a letter for y: 'd' is
// the base line, 'j' the height of small letters, 'm' that of capitals, 'a' the depth of descenders. A small letter is
// a point the pen passes through; a capital one is a corner that is rounded off: the pen runs from the middle of one
// side to the middle of the other (a quadratic B-spline). A stroke that ends where it starts is a dot.
#include "render/canvas.h"

static const struct {
    unsigned char width;
    const char *strokes;
} glyphs[95] = {
    {3, ""},                                 // space
    {0, "0m0g 0d0d"},                        // !
    {2, "0m0k 2m2k"},                        // "
    {6, "1d2m 4d5m 0g6g 0j6j"},              // #
    {5, "5k5M0M0I5I5D0D0f 3n3c"},            // $
    {6, "6m0d 0l0M2M2J0J0l 4e4G6G6D4D4e"},   // %
    {6, "6d1k1M4M4K0G0D4D6g"},               // &
    {0, "0m0k"},                             // '
    {2, "2n0K0F2b"},                         // (
    {2, "0n2K2F0b"},                         // )
    {4, "2m2i 0l4j 4l0j"},                   // *
    {4, "0h4h 2f2j"},                        // +
    {1, "1d0b"},                             // ,
    {3, "0h3h"},                             // -
    {0, "0d0d"},                             // .
    {4, "4n0b"},                             // /
    {5, "0h0M5M5D0D0h"},                     // 0
    {5, "1k3m3d"},                           // 1
    {5, "0k0M5M5I0d5d"},                     // 2
    {5, "0k0M5M5I2i5I5D0D0f"},               // 3
    {5, "4d4m0g5g"},                         // 4
    {5, "5m0m0i2j5J5D0D0f"},                 // 5
    {5, "4m0L0g0D5D5J0J0g"},                 // 6
    {5, "0m5m2d"},                           // 7
    {5, "0k0M5M5I0I0k 0g0I5I5D0D0g"},        // 8
    {5, "1d5E5j5M0M0G5G5j"},                 // 9
    {0, "0e0e 0i0i"},                        // :
    {1, "1i1i 1d0b"},                        // ;
    {4, "4j0g4d"},                           // <
    {4, "0f4f 0i4i"},                        // =
    {4, "0j4g0d"},                           // >
    {4, "0k0M4M4I2h2g 2d2d"},                // ?
    {8, "5j5f 5h5J2J2F5F5h 5f7E8h8M0M0B5b"}, // @
    {6, "0d3m6d 1g5g"},                      // A
    {6, "0i3i6I6D3d0d0m3m5M5I3i"},           // B
    {6, "6k6M0M0D6D6f"},                     // C
    {6, "0d0m2m6M6D2d0d"},                   // D
    {5, "5m0m0d5d 0i4i"},                    // E
    {5, "5m0m0d 0i4i"},                      // F
    {6, "6k6M0M0D6D6h3h"},                   // G
    {6, "0d0m 6d6m 0i6i"},                   // H
    {0, "0d0m"},                             // I
    {4, "4m4f4D0D0f"},                       // J
    {5, "0d0m 5m0h 2j5d"},                   // K
    {5, "0m0d5d"},                           // L
    {7, "0d0m3g4g7m7d"},                     // M
    {6, "0d0m6d6m"},                         // N
    {6, "0h0M6M6D0D0h"},                     // O
    {6, "0d0m3m6M6H3h0h"},                   // P
    {6, "0h0M6M6D0D0h 4f6c"},                // Q
    {6, "0d0m3m6M6H3h0h 3h6d"},              // R
    {6, "6k6M0M0I6I6D0D0f"},                 // S
    {6, "3d3m 0m6m"},                        // T
    {6, "0m0g0D6D6g6m"},                     // U
    {6, "0m3d6m"},                           // V
    {8, "0m2d4l6d8m"},                       // W
    {6, "0m6d 6m0d"},                        // X
    {6, "0m3i6m 3i3d"},                      // Y
    {6, "0m6m0d6d"},                         // Z
    {2, "2n0n0b2b"},                         // [
    {4, "0n4b"},                             // backslash
    {2, "0n2n2b0b"},                         // ]
    {4, "0k2m4k"},                           // ^
    {5, "0b5b"},                             // _
    {1, "0m1k"},                             // `
    {5, "5j5d 5g5J0J0D5D5g"},                // a
    {5, "0m0d 0g0J5J5D0D0g"},                // b
    {5, "5i5J0J0D5D5e"},                     // c
    {5, "5m5d 5g5J0J0D5D5g"},                // d
    {5, "0g5g5J0J0D5D5e"},                   // e
    {3, "4m1M1j1d 0j3j"},                    // f
    {5, "5j5c5A0A0b 5g5J0J0D5D5g"},          // g
    {5, "0m0d 0g0J5J5g5d"},                  // h
    {0, "0j0d 0m0m"},                        // i
    {2, "2j2c2A0a 2m2m"},                    // j
    {4, "0m0d 4j0f 1g4d"},                   // k
    {1, "0m0f0D2d"},                         // l
    {8, "0j0d 0g0J4J4g4d 4g4J8J8g8d"},       // m
    {5, "0j0d 0g0J5J5g5d"},                  // n
    {5, "0g0J5J5D0D0g"},                     // o
    {5, "0j0a 0g0J5J5D0D0g"},                // p
    {5, "5j5a 5g5J0J0D5D5g"},                // q
    {3, "0j0d 0g0J3j"},                      // r
    {4, "4i4J0J0G4G4D0D0e"},                 // s
    {3, "1l1f1D3d 0j3j"},                    // t
    {5, "0j0g0D5D5g 5j5d"},                  // u
    {4, "0j2d4j"},                           // v
    {8, "0j2d4j6d8j"},                       // w
    {4, "0j4d 4j0d"},                        // x
    {4, "0j2d 4j1a"},                        // y
    {4, "0j4j0d4d"},                         // z
    {3, "3n1N1h0h 0h1h1B3b"},                // {
    {0, "0n0b"},                             // |
    {3, "0n2N2h3h 3h2h2B0b"},                // }
    {6, "0g0J3h6F6i"},                       // ~
};

static const struct {
    uint32_t code;
    unsigned char width;
    const char *strokes;
} others[] = {
    {0xb0, 3, "0l0M3M3J0J0l"},       // degree
    {0xb1, 4, "0i4i 2g2k 0e4e"},     // plus-minus
    {0xb5, 5, "0j0a 0g0D5D5g 5j5d"}, // micro
    {0xb7, 0, "0h0h"},               // middle dot
    {0xd7, 4, "0j4f 4j0f"},          // times
    {0x2013, 5, "0h5h"},             // en dash
};

static const char *find_strokes(uint32_t code, float *width) {
    if (code >= 32 && code < 127) {
        *width = glyphs[code - 32].width;
        return glyphs[code - 32].strokes;
    }
    for (int i = 0; i < FA_COUNT(others); i++)
        if (others[i].code == code) {
            *width = others[i].width;
            return others[i].strokes;
        }
    *width = 4;
    return "0d0m4m4d0d";
}

float fai_glyph_width(uint32_t code) {
    float width;
    find_strokes(code, &width);
    return width;
}

static void add_segment(FaGlyph *g, float x0, float y0, float x1, float y1) {
    if (g->n >= FA_GLYPH_SEGMENTS) return;
    float *s = g->segment[g->n++];
    s[0] = x0, s[1] = y0, s[2] = x1, s[3] = y1;
}

static void add_curve(FaGlyph *g, const float a[2], const float b[2], const float c[2]) {
    enum { STEPS = 6 };
    float x = a[0], y = a[1];
    for (int i = 1; i <= STEPS; i++) {
        float t = (float)i / STEPS, u = 1 - t;
        float nx = u * u * a[0] + 2 * u * t * b[0] + t * t * c[0], ny = u * u * a[1] + 2 * u * t * b[1] + t * t * c[1];
        add_segment(g, x, y, nx, ny);
        x = nx, y = ny;
    }
}

static bool read_point(const char *s, float p[2]) { // true: a corner to be rounded off
    bool corner = s[1] < 'a';
    p[0] = (float)(s[0] - '0');
    p[1] = (float)(s[1] - (corner ? 'D' : 'd'));
    return corner;
}

void fai_glyph(uint32_t code, FaGlyph *g) {
    g->n = 0;
    const char *s = find_strokes(code, &g->width);
    while (*s) {
        float pen[2], at[2], next[2];
        read_point(s, pen);
        for (s += 2; *s && *s != ' '; s += 2) {
            if (!read_point(s, at)) {
                add_segment(g, pen[0], pen[1], at[0], at[1]);
                pen[0] = at[0], pen[1] = at[1];
                continue;
            }
            // to the next point, or to the middle of the side that joins two corners
            if (read_point(s + 2, next))
                next[0] = 0.5f * (at[0] + next[0]), next[1] = 0.5f * (at[1] + next[1]);
            else
                s += 2;
            add_curve(g, pen, at, next);
            pen[0] = next[0], pen[1] = next[1];
        }
        while (*s == ' ') s++;
    }
}
