#include "track/markers_trust.h"

#include "base/file.h"
#include "base/number.h"

#include <math.h>

static const double TRUST_MOST = 1e6;

static const char *skip_spaces(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t')) s++;
    return s;
}

static const char *drop_spaces(const char *s, const char *end) {
    while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    return end;
}

static int find(const FaMarkerMap *map, const char *s, size_t n) {
    for (int i = 0; i < map->count; i++)
        if (strlen(map->name[i]) == n && !memcmp(map->name[i], s, n)) return i;
    return -1;
}

// trust[i] is NAN as long as no line names the marker.
static FaCode read_line(const char *s, const char *end, int line, const FaMarkerMap *map, float *trust, FaError *err) {
    end = drop_spaces(s, end);
    s = skip_spaces(s, end);
    if (s == end || *s == '#') return FA_OK;
    const char *comma = end - 1;
    while (comma > s && *comma != ',') comma--; // a name may hold commas, a weight does not
    double weight = NAN;
    const char *number = skip_spaces(comma + 1, end), *stop = comma > s ? fai_parse_double(number, end, &weight) : NULL;
    if (stop != end || !(weight >= 0) || weight > TRUST_MOST)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line), "write NAME,WEIGHT, the weight 0 to 1000000",
                       "no weight of a marker: '%.*s'", (int)FA_MIN(end - s, 60), s);
    size_t n = (size_t)(drop_spaces(s, comma) - s);
    int at = find(map, s, n), shown = (int)FA_MIN(n, 60);
    if (at < 0)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line), "use the take's names",
                       "no marker is called '%.*s'", shown, s);
    if (!isnan(trust[at]))
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line), "keep one of them",
                       "the marker '%.*s' is there twice", shown, s);
    trust[at] = (float)weight;
    return FA_OK;
}

FaCode fai_marker_trust_parse(const char *text, size_t size, const FaMarkerMap *map, float *trust, FaError *err) {
    const char *s = text, *end = text + size;
    for (int i = 0; i < map->count; i++) trust[i] = NAN;
    if (size >= 3 && !memcmp(s, "\xEF\xBB\xBF", 3)) s += 3;
    for (int line = 1; s < end; line++) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        FA_TRY(read_line(s, stop, line, map, trust, err));
        s = stop < end ? stop + 1 : end;
    }
    for (int i = 0; i < map->count; i++)
        if (isnan(trust[i])) trust[i] = 1;
    return FA_OK;
}

FaCode fa_marker_trust_load(const char *path, const FaMarkerMap *map, float *trust, FaError *err) {
    FA_ASSERT(path && map && trust);
    FaBytes bytes = {0};
    FaCode rc = fai_file_read(path, 64 << 20, &bytes, err);
    if (rc >= 0) rc = fai_marker_trust_parse((const char *)bytes.data, bytes.size, map, trust, err);
    fai_bytes_free(&bytes);
    return fai_fail_in(err, rc, path);
}
