// Through the panels of the parts, and from part to part: included by chol_solve.c once for float and once for double,
// with T (the number), PANEL (the kernel's type) and NAME(x) (x with the type's suffix) defined.

typedef struct NAME(Solve) {
    const FaCholPlan *p;
    const T *panel;
    T *vec;
    const T *b; // (n x 4)
    T *x;       // (n x 4)
    PANEL *forward, *backward;
    int first; // part of the stage
} NAME(Solve);

// The part's vector: its right-hand sides, and what its children's tails add.
static T *NAME(gather)(const NAME(Solve) * v, const FaCholPart *t) {
    const FaCholPlan *p = v->p;
    T *x = v->vec + 4 * t->vec;
    for (int j = 0; j < t->ncol; j++) memcpy(x + 4 * j, v->b + 4 * (size_t)p->perm[t->col_begin + j], 4 * sizeof(T));
    memset(x + 4 * (size_t)t->ncol, 0, 4 * (size_t)t->ntail * sizeof(T));
    for (int q = t->child_begin; q < t->child_end; q++) {
        const FaCholPart *c = &p->part[p->part_child[q]];
        const T *from = v->vec + 4 * (c->vec + (size_t)c->ncol);
        const int *place = p->tail_place + c->tail;
        for (int i = 0; i < c->ntail; i++)
            for (int k = 0; k < 4; k++) x[4 * (size_t)place[i] + (size_t)k] += from[4 * (size_t)i + (size_t)k];
    }
    return x;
}

static void NAME(forward_part)(const NAME(Solve) * v, const FaCholPart *t) {
    const FaCholPlan *p = v->p;
    T *x = NAME(gather)(v, t);
    for (int f = t->super_begin; f < t->super_end; f++) {
        const FaCholSuper *s = &p->super[f];
        const int *local = p->local + s->local;
        const T *panel = v->panel + s->panel;
        for (int k = 0; k < s->width; k += FA_CHOL_WIDTH) {
            int w = FA_MIN(FA_CHOL_WIDTH, s->width - k);
            const T *next = panel + panel_size(s, k, w);
            v->forward(panel, x, local[k], w, local + k + w, s->width - k - w + s->nrow, next);
            panel = next;
        }
    }
}

static void NAME(backward_part)(const NAME(Solve) * v, const FaCholPart *t) {
    const FaCholPlan *p = v->p;
    T *x = v->vec + 4 * t->vec;
    if (t->parent >= 0) {
        const T *from = v->vec + 4 * p->part[t->parent].vec;
        const int *place = p->tail_place + t->tail;
        for (int i = 0; i < t->ntail; i++)
            memcpy(x + 4 * (size_t)(t->ncol + i), from + 4 * (size_t)place[i], 4 * sizeof(T));
    }
    for (int f = t->super_end; f-- > t->super_begin;) {
        const FaCholSuper *s = &p->super[f];
        const int *local = p->local + s->local;
        const T *panel = v->panel + s->last_panel;
        for (int k = (s->width - 1) / FA_CHOL_WIDTH * FA_CHOL_WIDTH; k >= 0; k -= FA_CHOL_WIDTH) {
            int w = FA_MIN(FA_CHOL_WIDTH, s->width - k);
            const T *next = k   ? panel - panel_size(s, k - FA_CHOL_WIDTH, FA_CHOL_WIDTH)
                            : f ? v->panel + s[-1].last_panel
                                : panel;
            v->backward(panel, x, local[k], w, local + k + w, s->width - k - w + s->nrow, next);
            panel = next;
        }
    }
    for (int j = 0; j < t->ncol; j++) memcpy(v->x + 4 * (size_t)p->perm[t->col_begin + j], x + 4 * j, 4 * sizeof(T));
}

static void NAME(forward_parts)(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const NAME(Solve) *v = ctx;
    for (int k = begin; k < end; k++) NAME(forward_part)(v, &v->p->part[v->first + k]);
}

static void NAME(backward_parts)(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const NAME(Solve) *v = ctx;
    for (int k = begin; k < end; k++) NAME(backward_part)(v, &v->p->part[v->first + k]);
}

static void NAME(forward_stages)(NAME(Solve) * v) {
    for (int g = 0; g < v->p->nstage; g++) {
        v->first = v->p->stage[g];
        fai_parallel(v->p->stage[g + 1] - v->first, 1, NAME(forward_parts), v);
    }
}

static void NAME(backward_stages)(NAME(Solve) * v) {
    for (int g = v->p->nstage; g-- > 0;) {
        v->first = v->p->stage[g];
        fai_parallel(v->p->stage[g + 1] - v->first, 1, NAME(backward_parts), v);
    }
}
