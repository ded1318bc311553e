#include "io/import_answer.h"

#include "io/clip_tools.h"

#include <math.h>

const double fai_upright[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0};

void fai_import_doc_free(FaImportDoc *doc) {
    fai_notes_free(&doc->notes);
    fai_text_free(&doc->own);
    *doc = (FaImportDoc){0};
}

// --- writing ------------------------------------------------------------------------------------------------------

static void put_text(FaText *to, const char *s) {
    size_t length = s ? strlen(s) : 0;
    uint32_t n = (uint32_t)FA_MIN(length, (size_t)FA_ANSWER_TEXT);
    fai_text_bytes(to, &n, sizeof n);
    if (n) fai_text_bytes(to, s, n);
}

uint64_t fai_answer_sum(const FaAnswerHead *head, const void *texts, const void *glb) {
    FaAnswerHead h = *head;
    h.sum = 0;
    uint64_t sum = fai_hash64(&h, sizeof h, FA_ANSWER_MAGIC);
    sum = fai_hash64(texts, (size_t)h.text_size, sum);
    return fai_hash64(glb, (size_t)h.glb_size, sum);
}

void fai_answer_pack(FaCode code, const FaImportDoc *doc, const FaError *err, FaText *bytes) {
    FaAnswerHead head = {.magic = FA_ANSWER_MAGIC, .code = code};
    fai_text_bytes(bytes, &head, sizeof head);
    if (code < 0) {
        put_text(bytes, err->what);
        put_text(bytes, err->place);
        put_text(bytes, err->remedy);
    } else {
        int n = FA_MIN(doc->notes.count, FA_ANSWER_NOTES);
        for (int i = 0; i < n; i++) {
            const FaNote *note = &doc->notes.note[i];
            fai_text_bytes(bytes, &note->count, sizeof note->count);
            put_text(bytes, note->code);
            put_text(bytes, note->text);
            put_text(bytes, note->where);
            put_text(bytes, note->remedy);
        }
        head.nnote = (uint32_t)n;
        head.glb_size = doc->glb_size;
        head.place = doc->place;
        head.origin_unit = doc->origin.unit;
        head.origin_up = doc->origin.up;
    }
    if (bytes->failed) return;
    head.text_size = bytes->size - sizeof head;
    head.sum = fai_answer_sum(&head, bytes->data + sizeof head, code < 0 ? NULL : doc->glb);
    memcpy(bytes->data, &head, sizeof head);
}

// --- reading ------------------------------------------------------------------------------------------------------

FaCode fai_answer_broken(FaError *err) {
    return FA_FAIL(err, FA_E_FORMAT, NULL, "open it in Blender and export it as .glb",
                   "assimp was brought out of step by it: what its process answers makes no sense");
}

static bool place_fits(const FaAnswerHead *h) {
    bool fits = h->place.unit > 0 && isfinite(h->place.unit) && h->origin_unit >= 0 && isfinite(h->origin_unit);
    for (int i = 0; i < 9; i++) fits &= fabs(h->place.turn[i]) <= 1.000001;
    return fits && h->origin_up <= FA_UP_Z;
}

bool fai_answer_head_fits(const FaAnswerHead *h, uint64_t max) {
    if (h->magic != FA_ANSWER_MAGIC || h->code < FA_E_CANCELLED || h->code > 0) return false;
    if (h->text_size > FA_ANSWER_TEXTS || h->nnote > FA_ANSWER_NOTES) return false;
    if (h->text_size > max || h->glb_size > max - h->text_size) return false;
    return h->code < 0 ? !h->glb_size && !h->nnote : h->glb_size && place_fits(h);
}

typedef struct Cursor {
    const char *at, *end;
    FaArena *work;
    bool bad, memory; // what it says makes no sense; no memory to read it
} Cursor;

// One line of UTF-8, whatever came: these are shown to the user, and written as JSON.
static const char *take_text(Cursor *c) {
    uint32_t n;
    if (c->bad || (size_t)(c->end - c->at) < sizeof n) return c->bad = true, "";
    memcpy(&n, c->at, sizeof n);
    c->at += sizeof n;
    if (n > FA_ANSWER_TEXT || n > (size_t)(c->end - c->at) || (n && memchr(c->at, 0, n))) return c->bad = true, "";
    char *text = fai_clip_name(c->work, c->at, n, false);
    c->at += n;
    if (!text) return c->memory = true, "";
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127) *p = ' ';
    return text;
}

static bool is_code(const char *s) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n && n < 64 && !s[n];
}

static void take_note(Cursor *c, FaNotes *notes) {
    int count;
    if (c->bad || (size_t)(c->end - c->at) < sizeof count) {
        c->bad = true;
        return;
    }
    memcpy(&count, c->at, sizeof count);
    c->at += sizeof count;
    const char *code = take_text(c), *text = take_text(c), *where = take_text(c), *remedy = take_text(c);
    c->bad |= count <= 0 || !is_code(code) || fai_note_find(notes, code);
    if (!c->bad && !c->memory) fai_note_count(notes, count, code, where, remedy, "%s", text);
}

static FaCode take_failure(Cursor *c, FaCode code, FaError *err) {
    const char *what = take_text(c), *place = take_text(c), *remedy = take_text(c);
    if (c->memory) return FA_FAIL_MEMORY(err);
    if (c->bad || c->at != c->end || !what[0]) return fai_answer_broken(err);
    return FA_FAIL(err, code, place[0] ? place : NULL, remedy[0] ? remedy : NULL, "%s", what);
}

static FaCode read_parts(const FaText *bytes, FaImportDoc *doc, Cursor *c, FaError *err) {
    FaAnswerHead h;
    if (bytes->size < sizeof h) return fai_answer_broken(err);
    memcpy(&h, bytes->data, sizeof h);
    uint64_t rest = bytes->size - sizeof h;
    if (!fai_answer_head_fits(&h, rest) || h.text_size + h.glb_size != rest) return fai_answer_broken(err);
    const char *texts = bytes->data + sizeof h, *glb = texts + h.text_size;
    if (h.sum != fai_answer_sum(&h, texts, glb)) return fai_answer_broken(err);
    c->at = texts;
    c->end = glb;
    if (h.code < 0) return take_failure(c, h.code, err);
    for (uint32_t i = 0; i < h.nnote && !c->bad; i++) take_note(c, &doc->notes);
    if (c->memory) return FA_FAIL_MEMORY(err);
    if (c->bad || c->at != c->end) return fai_answer_broken(err);
    doc->place = h.place;
    doc->origin = (FaGltfOrigin){.made = true, .unit = h.origin_unit, .up = (FaUp)h.origin_up};
    doc->glb = glb;
    doc->glb_size = (size_t)h.glb_size;
    return FA_OK;
}

FaCode fai_answer_read(FaText *bytes, FaImportDoc *doc, FaError *err) {
    *doc = (FaImportDoc){.own = *bytes};
    *bytes = (FaText){0};
    Cursor c = {.work = fai_arena_new(0)};
    FaCode rc = c.work ? read_parts(&doc->own, doc, &c, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(c.work);
    if (rc < 0) fai_import_doc_free(doc);
    return rc;
}
