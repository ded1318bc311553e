// Matching of blendshape names. A name is cut into words; what is left after the side and a harmless prefix are taken
// off must be exactly one row of the table below. No scoring, no guessing: a wrong match moves the wrong part of a
// face.
#include "rig/names.h"

#include "base/file.h"
#include "base/json.h"

#include <stdlib.h>

// ARKit's own order, which is also that of the Live Link UDP packets.
static const char *const arkit_names[FA_ARKIT_COUNT] = {
    "eyeBlinkLeft",      "eyeLookDownLeft",    "eyeLookInLeft",
    "eyeLookOutLeft",    "eyeLookUpLeft",      "eyeSquintLeft",
    "eyeWideLeft",       "eyeBlinkRight",      "eyeLookDownRight",
    "eyeLookInRight",    "eyeLookOutRight",    "eyeLookUpRight",
    "eyeSquintRight",    "eyeWideRight",       "jawForward",
    "jawLeft",           "jawRight",           "jawOpen",
    "mouthClose",        "mouthFunnel",        "mouthPucker",
    "mouthLeft",         "mouthRight",         "mouthSmileLeft",
    "mouthSmileRight",   "mouthFrownLeft",     "mouthFrownRight",
    "mouthDimpleLeft",   "mouthDimpleRight",   "mouthStretchLeft",
    "mouthStretchRight", "mouthRollLower",     "mouthRollUpper",
    "mouthShrugLower",   "mouthShrugUpper",    "mouthPressLeft",
    "mouthPressRight",   "mouthLowerDownLeft", "mouthLowerDownRight",
    "mouthUpperUpLeft",  "mouthUpperUpRight",  "browDownLeft",
    "browDownRight",     "browInnerUp",        "browOuterUpLeft",
    "browOuterUpRight",  "cheekPuff",          "cheekSquintLeft",
    "cheekSquintRight",  "noseSneerLeft",      "noseSneerRight",
    "tongueOut",
};

// Names without their side. FACS units are rows "au<number>"; their descriptions are rows of their own, and may also
// follow the number. In `arkit` a star stands for Left and Right.
#define NAME(s) s, sizeof s - 1
static const FaNameAlias aliases[] = {
    {"ARKit", NAME("eyeblink"), "eyeBlink*", ""},
    {"ARKit", NAME("eyelookdown"), "eyeLookDown*", ""},
    {"ARKit", NAME("eyelookin"), "eyeLookIn*", ""},
    {"ARKit", NAME("eyelookout"), "eyeLookOut*", ""},
    {"ARKit", NAME("eyelookup"), "eyeLookUp*", ""},
    {"ARKit", NAME("eyesquint"), "eyeSquint*", ""},
    {"ARKit", NAME("eyewide"), "eyeWide*", ""},
    {"ARKit", NAME("jaw"), "jaw*", "a direction: only with a side"},
    {"ARKit", NAME("mouth"), "mouth*", "a direction: only with a side"},
    {"ARKit", NAME("jawforward"), "jawForward", ""},
    {"ARKit", NAME("jawopen"), "jawOpen", ""},
    {"ARKit", NAME("mouthclose"), "mouthClose", "a corrective for jawOpen, not a shape of its own"},
    {"ARKit", NAME("mouthfunnel"), "mouthFunnel", ""},
    {"ARKit", NAME("mouthpucker"), "mouthPucker", ""},
    {"ARKit", NAME("mouthsmile"), "mouthSmile*", ""},
    {"ARKit", NAME("mouthfrown"), "mouthFrown*", ""},
    {"ARKit", NAME("mouthdimple"), "mouthDimple*", ""},
    {"ARKit", NAME("mouthstretch"), "mouthStretch*", ""},
    {"ARKit", NAME("mouthrolllower"), "mouthRollLower", ""},
    {"ARKit", NAME("mouthrollupper"), "mouthRollUpper", ""},
    {"ARKit", NAME("mouthshruglower"), "mouthShrugLower", ""},
    {"ARKit", NAME("mouthshrugupper"), "mouthShrugUpper", ""},
    {"ARKit", NAME("mouthpress"), "mouthPress*", ""},
    {"ARKit", NAME("mouthlowerdown"), "mouthLowerDown*", ""},
    {"ARKit", NAME("mouthupperup"), "mouthUpperUp*", ""},
    {"ARKit", NAME("browdown"), "browDown*", ""},
    {"ARKit", NAME("browinnerup"), "browInnerUp", "ICT-FaceKit splits it: _L and _R are halves"},
    {"ARKit", NAME("browouterup"), "browOuterUp*", ""},
    {"ARKit", NAME("cheekpuff"), "cheekPuff", "ICT-FaceKit splits it: _L and _R are halves"},
    {"ARKit", NAME("cheeksquint"), "cheekSquint*", ""},
    {"ARKit", NAME("nosesneer"), "noseSneer*", ""},
    {"ARKit", NAME("tongueout"), "tongueOut", ""},
    {"ICT-FaceKit", NAME("cheekraiser"), NULL, "ICT-FaceKit has it beside cheekSquint, as another shape"},
    {"ICT-FaceKit", NAME("pupildilate"), NULL, ""},
    {"VRM", NAME("blink"), "eyeBlink*", "without a side: both eyes in one shape"},
    {"VRM", NAME("a"), NULL, "a vowel: jaw and lips at once; likewise i u e o"},
    {"VRM", NAME("aa"), NULL, "a vowel: jaw and lips at once; likewise ih ou ee oh"},
    {"VRM", NAME("joy"), NULL, "a whole expression; likewise angry sorrow fun happy sad relaxed surprised"},
    {"VRM", NAME("lookleft"), NULL, "eyeLookOutLeft and eyeLookInRight at once; likewise the other directions"},
    {"VRoid", NAME("eyeclose"), "eyeBlink*", "Fcl_EYE_Close_L"},
    {"VRoid", NAME("eyeclosed"), "eyeBlink*", ""},
    {"FACS", NAME("au1"), "browInnerUp", "a side is a half"},
    {"FACS", NAME("innerbrowraiser"), "browInnerUp", "AU1"},
    {"FACS", NAME("au2"), "browOuterUp*", ""},
    {"FACS", NAME("outerbrowraiser"), "browOuterUp*", "AU2"},
    {"FACS", NAME("au4"), "browDown*", ""},
    {"FACS", NAME("browlowerer"), "browDown*", "AU4"},
    {"FACS", NAME("au5"), "eyeWide*", ""},
    {"FACS", NAME("upperlidraiser"), "eyeWide*", "AU5"},
    {"FACS", NAME("au6"), "cheekSquint*", "the description alone is not matched: see cheekraiser"},
    {"FACS", NAME("au7"), "eyeSquint*", ""},
    {"FACS", NAME("lidtightener"), "eyeSquint*", "AU7"},
    {"FACS", NAME("au8"), NULL, "lips toward each other; mouthClose is a corrective"},
    {"FACS", NAME("au9"), "noseSneer*", ""},
    {"FACS", NAME("nosewrinkler"), "noseSneer*", "AU9"},
    {"FACS", NAME("au10"), "mouthUpperUp*", ""},
    {"FACS", NAME("upperlipraiser"), "mouthUpperUp*", "AU10"},
    {"FACS", NAME("au12"), "mouthSmile*", ""},
    {"FACS", NAME("lipcornerpuller"), "mouthSmile*", "AU12"},
    {"FACS", NAME("au14"), "mouthDimple*", ""},
    {"FACS", NAME("dimpler"), "mouthDimple*", "AU14"},
    {"FACS", NAME("au15"), "mouthFrown*", ""},
    {"FACS", NAME("lipcornerdepressor"), "mouthFrown*", "AU15"},
    {"FACS", NAME("au16"), "mouthLowerDown*", ""},
    {"FACS", NAME("lowerlipdepressor"), "mouthLowerDown*", "AU16"},
    {"FACS", NAME("au17"), "mouthShrugLower", ""},
    {"FACS", NAME("chinraiser"), "mouthShrugLower", "AU17"},
    {"FACS", NAME("au18"), "mouthPucker", ""},
    {"FACS", NAME("lippucker"), "mouthPucker", "AU18"},
    {"FACS", NAME("lippuckerer"), "mouthPucker", "AU18"},
    {"FACS", NAME("au19"), "tongueOut", ""},
    {"FACS", NAME("tongueshow"), "tongueOut", "AU19"},
    {"FACS", NAME("au20"), "mouthStretch*", ""},
    {"FACS", NAME("lipstretcher"), "mouthStretch*", "AU20"},
    {"FACS", NAME("au22"), "mouthFunnel", ""},
    {"FACS", NAME("lipfunneler"), "mouthFunnel", "AU22"},
    {"FACS", NAME("au23"), NULL, "lip tightener"},
    {"FACS", NAME("au24"), "mouthPress*", ""},
    {"FACS", NAME("lippressor"), "mouthPress*", "AU24"},
    {"FACS", NAME("au25"), NULL, "lips part: several shapes do it"},
    {"FACS", NAME("au26"), "jawOpen", ""},
    {"FACS", NAME("jawdrop"), "jawOpen", "AU26"},
    {"FACS", NAME("au27"), NULL, "mouth stretch: jawOpen belongs to AU26"},
    {"FACS", NAME("au28"), NULL, "lip suck: mouthRollUpper and mouthRollLower at once"},
    {"FACS", NAME("au29"), "jawForward", ""},
    {"FACS", NAME("jawthrust"), "jawForward", "AU29"},
    {"FACS", NAME("au30"), "jaw*", "only with a side"},
    {"FACS", NAME("jawsideways"), "jaw*", "AU30"},
    {"FACS", NAME("au33"), NULL, "cheek blow: air leaves through the lips; cheekPuff is AU34"},
    {"FACS", NAME("au34"), "cheekPuff", ""},
    {"FACS", NAME("au43"), "eyeBlink*", "as a shape the same as AU45"},
    {"FACS", NAME("eyesclosed"), "eyeBlink*", "AU43"},
    {"FACS", NAME("eyeclosure"), "eyeBlink*", "AU43; MakeHuman's eye-left-closure too"},
    {"FACS", NAME("au45"), "eyeBlink*", ""},
    {"FACS", NAME("au46"), NULL, "a wink: a blink with the cheek"},
    {"FACS", NAME("au61"), NULL, "eyes turn left: eyeLookOutLeft and eyeLookInRight at once; 62 likewise"},
    {"FACS", NAME("au62"), NULL, ""},
    {"FACS", NAME("au63"), "eyeLookUp*", ""},
    {"FACS", NAME("eyesup"), "eyeLookUp*", "AU63"},
    {"FACS", NAME("au64"), "eyeLookDown*", ""},
    {"FACS", NAME("eyesdown"), "eyeLookDown*", "AU64"},
    {"MakeHuman", NAME("eyebrowsdown"), "browDown*", "eyebrows-left-down"},
    {"MakeHuman", NAME("eyebrowsexternup"), "browOuterUp*", "eyebrows-left-extern-up"},
    {"MakeHuman", NAME("eyebrowsinnerup"), "browInnerUp", "eyebrows-left-inner-up: a half"},
    {"MakeHuman", NAME("eyeopenedup"), "eyeWide*", "eye-left-opened-up"},
};

// Words that a number of FACS may be followed by, beside the description's own row: "AU6 cheek raiser".
static const struct {
    const char *au, *words;
} described[] = {
    {"au1", "innerbrowraiser"},
    {"au2", "outerbrowraiser"},
    {"au4", "browlowerer"},
    {"au5", "upperlidraiser"},
    {"au6", "cheekraiser"},
    {"au7", "lidtightener"},
    {"au9", "nosewrinkler"},
    {"au10", "upperlipraiser"},
    {"au12", "lipcornerpuller"},
    {"au14", "dimpler"},
    {"au15", "lipcornerdepressor"},
    {"au16", "lowerlipdepressor"},
    {"au17", "chinraiser"},
    {"au18", "lippucker"},
    {"au18", "lippuckerer"},
    {"au19", "tongueshow"},
    {"au20", "lipstretcher"},
    {"au22", "lipfunneler"},
    {"au24", "lippressor"},
    {"au26", "jawdrop"},
    {"au29", "jawthrust"},
    {"au30", "jawsideways"},
    {"au34", "cheekpuff"},
    {"au34", "puff"},
    {"au43", "eyesclosed"},
    {"au43", "eyeclosure"},
    {"au45", "blink"},
    {"au63", "eyesup"},
    {"au64", "eyesdown"},
};

// A prefix with one of these words makes another shape of what follows.
static const char *const changing[] = {
    "combo",     "comb",    "corrective", "correctives", "corr",   "cor",    "fix",    "inv",      "inverse", "invert",
    "inverted",  "neg",     "negative",   "minus",       "not",    "no",     "anti",   "opposite", "half",    "mid",
    "inbetween", "between", "psd",        "old",         "backup", "unused", "mirror", "tweak",    "delta",
};

// ASCII only, whatever locale the host program has set (in a Turkish one tolower('I') is not 'i').
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static char lower(char c) { return is_upper(c) ? (char)(c - 'A' + 'a') : c; }
static char upper(char c) { return is_lower(c) ? (char)(c - 'a' + 'A') : c; }
// Bytes of other alphabets count as letters: they are part of a name.
static bool is_wordly(char c) { return is_upper(c) || is_lower(c) || is_digit(c) || (unsigned char)c >= 0x80; }

static bool same_letters(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (lower(a[i]) != lower(b[i])) return false;
        if (!a[i]) return true;
    }
    return true;
}

const char *fa_arkit_name(int i) { return i >= 0 && i < FA_ARKIT_COUNT ? arkit_names[i] : NULL; }

const FaNameAlias *fai_name_aliases(int *count) {
    *count = FA_COUNT(aliases);
    return aliases;
}

static int arkit_exact(const char *name) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        if (!strcmp(arkit_names[i], name)) return i;
    return -1;
}

int fai_arkit_mirror(int arkit) {
    char other[64];
    if (arkit < 0 || arkit >= FA_ARKIT_COUNT) return -1;
    if (!fai_name_mirror(arkit_names[arkit], other, sizeof other)) return arkit;
    int i = arkit_exact(other);
    return i >= 0 ? i : arkit;
}

// --- words --------------------------------------------------------------------------------------------------------

enum { MAX_WORDS = 16, MAX_KEY = 256 };

typedef struct Words {
    int count;
    char text[MAX_WORDS][64]; // lower case
    bool apart[MAX_WORDS];    // a separator stands before it (not just a change of case)
} Words;

// Is there a cut before s[i]? Between letters and digits, before a capital that starts a word.
static bool cut_before(const char *s, int i) {
    char a = s[i - 1], b = s[i], c = s[i + 1];
    if (is_digit(a) != is_digit(b)) return true;
    return (is_lower(a) && is_upper(b)) || (is_upper(a) && is_upper(b) && is_lower(c));
}

// False: too long to be a name that we know.
static bool split_words(const char *name, Words *w) {
    *w = (Words){0};
    // namespaces and paths of other programs
    for (const char *s = name; *s; s++)
        if (*s == ':' || *s == '|' || *s == '/') name = s + 1;
    bool apart = true, open = false;
    int used = 0;
    for (int i = 0; name[i]; i++) {
        if (!is_wordly(name[i])) {
            apart = true;
            open = false;
            continue;
        }
        if (!open || cut_before(name, i)) {
            if (w->count == MAX_WORDS) return false;
            w->apart[w->count++] = apart;
            used = 0;
        }
        if (used + 1 >= (int)sizeof w->text[0]) return false;
        w->text[w->count - 1][used++] = lower(name[i]);
        apart = false;
        open = true;
    }
    return w->count > 0;
}

// -1 right, +1 left, 0 neither.
static int side_of(const char *word) {
    if (!strcmp(word, "l") || !strcmp(word, "left")) return 1;
    if (!strcmp(word, "r") || !strcmp(word, "right")) return -1;
    return 0;
}

// Join words [from, to) but `skip`; false if they are too long.
static bool join(const Words *w, int from, int to, int skip, char key[MAX_KEY]) {
    size_t used = 0;
    key[0] = 0;
    for (int i = from; i < to; i++) {
        size_t n = strlen(w->text[i]);
        if (i == skip) continue;
        if (used + n + 1 > MAX_KEY) return false;
        memcpy(key + used, w->text[i], n + 1);
        used += n;
    }
    return used > 0;
}

static bool ends_at(const char *name, const char *words, int last) {
    Words w;
    char key[MAX_KEY];
    if (!split_words(name, &w)) return false;
    for (int from = 0; from <= FA_MIN(last, w.count - 1); from++)
        if (join(&w, from, w.count, -1, key) && !strcmp(key, words)) return true;
    return false;
}

bool fai_name_ends(const char *name, const char *words) { return ends_at(name, words, MAX_WORDS); }
bool fai_name_is(const char *name, const char *words) { return ends_at(name, words, 0); }

static const FaNameAlias *find_alias(const char *key) {
    size_t size = strlen(key);
    for (int i = 0; i < FA_COUNT(aliases); i++)
        if (aliases[i].size == size && !memcmp(aliases[i].name, key, size)) return &aliases[i];
    return NULL;
}

// --- one core -----------------------------------------------------------------------------------------------------

typedef struct Match {
    int arkit, half;
    int pair[2];        // a name for both sides at once; -1 -1 else
    const char *source; // whose custom the name follows: "ARKit", "FACS", ...
} Match;
static const Match no_match = {-1, 0, {-1, -1}, ""};

static Match resolve(const FaNameAlias *a, int side) {
    Match m = no_match;
    if (!a || !a->arkit) return m;
    m.source = a->source;
    size_t n = strlen(a->arkit);
    if (a->arkit[n - 1] != '*') {
        m.arkit = arkit_exact(a->arkit);
        m.half = side;
        // no half of these can be meant
        if (side && (!strcmp(a->arkit, "jawOpen") || !strcmp(a->arkit, "jawForward") ||
                     !strcmp(a->arkit, "tongueOut") || !strcmp(a->arkit, "mouthClose")))
            m = no_match;
        return m;
    }
    char name[64];
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "%.*s%s", (int)n - 1, a->arkit, k ? "Right" : "Left");
        m.pair[k] = arkit_exact(name);
    }
    if (side) {
        m.arkit = m.pair[side < 0];
        m.pair[0] = m.pair[1] = -1;
    } else if (!strcmp(a->arkit, "jaw*") || !strcmp(a->arkit, "mouth*")) {
        m = no_match; // left and right are two directions, not two sides
    }
    return m;
}

// "au", number, then nothing or the unit's own description.
static const FaNameAlias *find_unit(const Words *w, int from, int skip) {
    int i[2], n = 0;
    for (int k = from; k < w->count && n < 2; k++)
        if (k != skip) i[n++] = k;
    if (n < 2 || strcmp(w->text[i[0]], "au") || !is_digit(w->text[i[1]][0])) return NULL;
    int number = 0;
    for (const char *s = w->text[i[1]]; *s && number < 1000; s++) number = 10 * number + (*s - '0');
    char au[16], rest[MAX_KEY];
    snprintf(au, sizeof au, "au%d", number);
    const FaNameAlias *a = find_alias(au);
    if (!join(w, i[1] + 1, w->count, skip, rest)) return a;
    for (int k = 0; k < FA_COUNT(described); k++)
        if (!strcmp(described[k].au, au) && !strcmp(described[k].words, rest)) return a;
    return NULL;
}

static Match match_key(const char *key) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        if (same_letters(arkit_names[i], key, MAX_KEY)) return (Match){i, 0, {-1, -1}, "ARKit"};
    const FaNameAlias *a = find_alias(key);
    if (a) return resolve(a, 0);
    // a side glued on without any sign: eyeblinkl, browinnerupleft
    static const struct {
        const char *end;
        int side;
    } ends[] = {{"left", 1}, {"right", -1}, {"l", 1}, {"r", -1}};
    size_t n = strlen(key);
    for (int i = 0; i < FA_COUNT(ends); i++) {
        size_t e = strlen(ends[i].end);
        if (n <= e + 4 || strcmp(key + n - e, ends[i].end)) continue;
        char stem[MAX_KEY];
        snprintf(stem, sizeof stem, "%.*s", (int)(n - e), key);
        if ((a = find_alias(stem))) return resolve(a, ends[i].side);
    }
    return no_match;
}

// Words from `from` on, which must all be explained.
static Match match_core(const Words *w, int from) {
    char key[MAX_KEY];
    Match m = no_match;
    if (join(w, from, w->count, -1, key)) m = match_key(key);
    if (m.arkit >= 0 || m.pair[0] >= 0) return m;
    int at = -1, sides = 0;
    for (int i = from; i < w->count; i++)
        if (side_of(w->text[i])) at = i, sides++;
    const FaNameAlias *a = NULL;
    if (sides == 0) a = find_unit(w, from, -1);
    if (sides == 1 && join(w, from, w->count, at, key)) {
        a = find_alias(key);
        if (!a) a = find_unit(w, from, at);
    }
    return resolve(a, sides == 1 ? side_of(w->text[at]) : 0);
}

// May word `at` be part of a prefix that says where a shape belongs, not which one it is? The words before it passed.
static bool harmless_word(const Words *w, int at) {
    if (side_of(w->text[at])) return false;
    for (int k = 0; k < FA_COUNT(changing); k++)
        if (!strcmp(w->text[at], changing[k])) return false;
    if (at > 0 && !strcmp(w->text[at - 1], "au") && is_digit(w->text[at][0])) return false;
    // together with those before it, does it name another shape?
    char key[MAX_KEY];
    for (int from = 0; from <= at; from++) {
        if (!join(w, from, at + 1, -1, key) || strlen(key) < 6) continue; // "mouth_" and "jaw_" name a group
        const FaNameAlias *a = find_alias(key);
        if (a && a->arkit) return false;
    }
    return true;
}

// *words: those of the name; *from: the first that is no prefix.
static Match match_words(const char *name, Words *words, int *from_word) {
    static const char *const trailing[] = {"shape", "bs", "morph", "target"};
    Words *w = words;
    *from_word = 0;
    if (!name || !split_words(name, w)) return no_match;
    for (int k = 0; k < FA_COUNT(trailing) && w->count > 1; k++)
        if (!strcmp(w->text[w->count - 1], trailing[k])) {
            w->count--;
            if (k == 0 && w->count > 1 && !strcmp(w->text[w->count - 1], "blend")) w->count--;
            break;
        }
    for (int from = 0; from < w->count; from++) {
        if (from > 0 && !harmless_word(w, from - 1)) break;
        if (!w->apart[from]) continue;
        Match m = match_core(w, from);
        *from_word = from;
        if (m.arkit >= 0 || m.pair[0] >= 0) return m;
    }
    return no_match;
}

static Match match_name(const char *name) {
    Words words;
    int from;
    return match_words(name, &words, &from);
}

// Numbers count shapes within a family ("AK_25_"), so they are no part of its name.
FaNameMatch fai_name_match(const char *name) {
    Words w;
    int from;
    Match m = match_words(name, &w, &from);
    FaNameMatch out = {.arkit = m.arkit, .half = m.half, .pair = {m.pair[0], m.pair[1]}};
    if (m.arkit < 0 && m.pair[0] < 0) return out;
    out.spelled = m.arkit >= 0 && !strcmp(arkit_names[m.arkit], name);
    size_t used = 0;
    for (int i = 0; i < from && used < sizeof out.family; i++)
        if (!is_digit(w.text[i][0]))
            used += (size_t)snprintf(out.family + used, sizeof out.family - used, "%s_", w.text[i]);
    if (used < sizeof out.family) snprintf(out.family + used, sizeof out.family - used, "/%s", m.source);
    return out;
}

int fa_arkit_match(const char *name, int *half) {
    Match m = match_name(name);
    if (half) *half = m.half;
    return m.arkit;
}

bool fai_arkit_pair(const char *name, int pair[2]) {
    Match m = match_name(name);
    pair[0] = m.pair[0];
    pair[1] = m.pair[1];
    return m.arkit < 0 && m.pair[0] >= 0;
}

// --- a few names for a sentence ---------------------------------------------------------------------------------

void fai_some_add(FaSome *s, int item, const char *name) {
    size_t used = strlen(s->list), room = sizeof s->list - used;
    if (s->count++ == 0) s->first = item;
    if (s->full) return;
    s->full = s->count > 6 || strlen(name) + 8 > room; // whole names only, and room for the three dots
    if (s->full && s->count == 1)
        snprintf(s->list, sizeof s->list, "%.80s", name);
    else
        snprintf(s->list + used, room, "%s%s", s->count > 1 ? ", " : "", s->full ? "..." : name);
}

// --- partners -----------------------------------------------------------------------------------------------------

// Swap a side word at [at, at + n), keeping its case, into out.
static bool swap_side(const char *name, size_t at, size_t n, char *out, size_t size) {
    bool left = lower(name[at]) == 'l';
    const char *word = n == 1 ? (left ? "r" : "l") : (left ? "right" : "left");
    char other[8];
    snprintf(other, sizeof other, "%s", word);
    if (is_upper(name[at])) other[0] = upper(other[0]);
    if (n > 1 && is_upper(name[at + 1]))
        for (char *c = other; *c; c++) *c = upper(*c);
    int len = snprintf(out, size, "%.*s%s%s", (int)at, name, other, name + at + n);
    return len >= 0 && (size_t)len < size;
}

// A word ends here: the end, a separator, or a change of case.
static bool word_bound(const char *s, size_t i) {
    if (i == 0 || !s[i]) return true;
    if (!is_wordly(s[i]) || !is_wordly(s[i - 1])) return true;
    return cut_before(s, (int)i);
}

bool fai_name_mirror(const char *name, char *out, size_t size) {
    size_t n = strlen(name);
    if (n > 4096) return false;
    static const struct {
        const char *word;
        size_t n;
    } sides[] = {{"left", 4}, {"right", 5}, {"l", 1}, {"r", 1}};
    for (int k = 0; k < FA_COUNT(sides); k++)
        for (size_t i = n; i-- > 0;) {
            if (i + sides[k].n > n || !same_letters(name + i, sides[k].word, sides[k].n)) continue;
            if (word_bound(name, i) && word_bound(name, i + sides[k].n))
                return swap_side(name, i, sides[k].n, out, size);
        }
    return false;
}

// --- channel orders -----------------------------------------------------------------------------------------------

int fai_order_udp(int column) { return column >= 0 && column < FA_ARKIT_COUNT ? column : -1; }

int fai_order_csv(int column) {
    int i = fai_order_udp(column);
    if (i < 0) return -1;
    bool swapped = !strcmp(arkit_names[i], "jawLeft") || !strcmp(arkit_names[i], "jawRight") ||
                   !strcmp(arkit_names[i], "mouthLeft") || !strcmp(arkit_names[i], "mouthRight");
    return swapped ? fai_arkit_mirror(i) : i;
}

int fai_order_mediapipe(int column) {
    // column c is the c-th name in alphabetical order, tongueOut left out
    if (column <= 0 || column >= FA_ARKIT_COUNT) return -1;
    for (int i = 0; i < FA_ARKIT_COUNT - 1; i++) {
        int before = 0;
        for (int j = 0; j < FA_ARKIT_COUNT - 1; j++) before += strcmp(arkit_names[j], arkit_names[i]) < 0;
        if (before == column - 1) return i;
    }
    return -1;
}

// --- names.json ---------------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b) {
    return strcmp(((const FaNamesMapEntry *)a)->name, ((const FaNamesMapEntry *)b)->name);
}

static FaCode entry_arkit(const FaJson *value, FaNamesMapEntry *e, FaError *err) {
    e->arkit = fa_arkit_match(value->string, &e->half);
    if (e->arkit >= 0 && strlen(value->string) == (size_t)value->string_size) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, fai_json_path(value).text, "use one of the 52 ARKit names, such as \"jawOpen\"",
                   "'%s' is no ARKit shape", value->string);
}

static FaCode read_entry(const FaJson *value, FaNamesMapEntry *e, FaError *err) {
    *e = (FaNamesMapEntry){.name = value->key, .arkit = -1};
    if (value->type == FA_JSON_NULL) return FA_OK;
    if (value->type == FA_JSON_STRING) return entry_arkit(value, e, err);
    const char *remedy = "write \"jawOpen\", {\"arkit\": \"browInnerUp\", \"half\": \"left\"} or null";
    if (value->type != FA_JSON_OBJECT)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(value).text, remedy, "a name, an object or null is expected");
    for (const FaJson *c = value->first; c; c = c->next)
        if (strcmp(c->key, "arkit") && strcmp(c->key, "half"))
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(c).text, remedy, "'%s' is not known here", c->key);
    const FaJson *arkit = fai_json_get(value, "arkit"), *half = fai_json_get(value, "half");
    if (!fai_json_is(arkit, FA_JSON_STRING))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(value).text, remedy, "\"arkit\" is missing or no text");
    FA_TRY(entry_arkit(arkit, e, err));
    if (!half) return FA_OK;
    const char *side = fai_json_is(half, FA_JSON_STRING) ? half->string : "";
    if (!strcmp(side, "left"))
        e->half = 1;
    else if (!strcmp(side, "right"))
        e->half = -1;
    else
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(half).text, "write \"left\" or \"right\"",
                       "\"half\" is neither \"left\" nor \"right\"");
    if (fai_arkit_mirror(e->arkit) != e->arkit)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(half).text, "leave \"half\" out",
                       "%s belongs to one side already", arkit_names[e->arkit]);
    return FA_OK;
}

static FaCode fill_map(const FaJson *root, FaNamesMap *map, FaError *err) {
    if (!fai_json_is(root, FA_JSON_OBJECT))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "write {\"theirName\": \"jawOpen\", ...}",
                       "a map of names is an object");
    map->arena = fai_arena_new(0);
    map->entry = map->arena ? FA_PUSH(map->arena, root->count, FaNamesMapEntry) : NULL;
    if (!map->entry) return FA_FAIL_MEMORY(err);
    for (const FaJson *c = root->first; c; c = c->next) {
        FaNamesMapEntry *e = &map->entry[map->count];
        FA_TRY(read_entry(c, e, err));
        e->name = fai_arena_strndup(map->arena, c->key, strlen(c->key));
        if (!e->name) return FA_FAIL_MEMORY(err);
        map->count++;
    }
    qsort(map->entry, (size_t)map->count, sizeof *map->entry, by_name);
    for (int i = 1; i < map->count; i++)
        if (!strcmp(map->entry[i].name, map->entry[i - 1].name))
            return FA_FAIL(err, FA_E_FORMAT, map->entry[i].name, "keep one of them", "the name is there twice");
    return FA_OK;
}

FaCode fai_names_map_parse(const char *text, size_t size, FaNamesMap *map, FaError *err) {
    *map = (FaNamesMap){0};
    FaJsonDoc *doc;
    FA_TRY(fai_json_parse(text, size, &doc, NULL, err));
    FaCode rc = fill_map(doc->root, map, err);
    fai_json_free(doc);
    if (rc < 0) fai_names_map_free(map);
    return rc;
}

FaCode fai_names_map_load(const char *path, FaNamesMap *map, FaError *err) {
    *map = (FaNamesMap){0};
    FaBytes bytes;
    FA_TRY(fai_file_read(path, 16u << 20, &bytes, err));
    FaCode rc = fai_names_map_parse((const char *)bytes.data, bytes.size, map, err);
    fai_bytes_free(&bytes);
    return fai_fail_in(err, rc, path);
}

FaNamesMap *fai_names_map_copy(FaArena *arena, const FaNamesMap *map) {
    FaNamesMap *copy = FA_PUSH(arena, 1, FaNamesMap);
    FaNamesMapEntry *entry = FA_PUSH(arena, map->count, FaNamesMapEntry);
    if (!copy || !entry) return NULL;
    for (int i = 0; i < map->count; i++) {
        entry[i] = map->entry[i];
        entry[i].name = fai_arena_strndup(arena, map->entry[i].name, strlen(map->entry[i].name));
        if (!entry[i].name) return NULL;
    }
    *copy = (FaNamesMap){.entry = entry, .count = map->count};
    return copy;
}

const FaNamesMapEntry *fai_names_map_find(const FaNamesMap *map, const char *name) {
    if (!map || !map->count) return NULL;
    return bsearch(&(FaNamesMapEntry){.name = name}, map->entry, (size_t)map->count, sizeof *map->entry, by_name);
}

void fai_names_map_free(FaNamesMap *map) {
    fai_arena_free(map->arena);
    *map = (FaNamesMap){0};
}
