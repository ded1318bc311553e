#include "neural/onnx.h"

#include "base/file.h"
#include "base/text.h"
#include "fascia/neural_train.h"

#include <stdio.h>

enum { IR = 8, OPSET = 17, FLOAT = 1 };

// --- protobuf: fields are a number and a kind, then a varint (0) or a length and bytes (2) ---------------------------

static void varint(FaText *t, uint64_t v) {
    unsigned char byte[10];
    size_t n = 0;
    for (; v > 127; v >>= 7) byte[n++] = (unsigned char)(v | 128);
    byte[n++] = (unsigned char)v;
    fai_text_bytes(t, byte, n);
}

static void field_int(FaText *t, int field, uint64_t v) {
    varint(t, (uint64_t)field << 3);
    varint(t, v);
}

static void field_bytes(FaText *t, int field, const void *data, size_t size) {
    varint(t, (uint64_t)field << 3 | 2);
    varint(t, size);
    fai_text_bytes(t, data, size);
}

static void field_text(FaText *t, int field, const char *s) { field_bytes(t, field, s, strlen(s)); }

static void field_message(FaText *t, int field, FaText *message) { // and frees it
    if (message->failed) t->failed = true;
    field_bytes(t, field, message->data, message->size);
    fai_text_free(message);
}

// --- a graph (onnx.proto: GraphProto, NodeProto, TensorProto, ValueInfoProto) ---------------------------------------

typedef struct Graph {
    FaText nodes, tensors, inputs, outputs;
    bool failed;
} Graph;

// A tensor of rows x columns; turned: the array holds it by columns. rows 0: a vector.
static void tensor(Graph *g, const char *name, const float *x, int rows, int columns, bool turned, float by) {
    const size_t n = (size_t)FA_MAX(1, rows) * (size_t)columns;
    float *copy = FA_NEW(n, float);
    FaText t = {0};
    if (!copy) {
        g->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        copy[i] = by * x[turned ? i % (size_t)columns * (size_t)rows + i / (size_t)columns : i];
    if (rows) field_int(&t, 1, (uint64_t)rows);
    field_int(&t, 1, (uint64_t)columns);
    field_int(&t, 2, FLOAT);
    field_text(&t, 8, name);
    field_bytes(&t, 9, copy, n * sizeof *copy);
    field_message(&g->tensors, 5, &t);
    fa_free(copy);
}

static void node(Graph *g, const char *op, const char *a, const char *b, const char *out) {
    FaText t = {0};
    field_text(&t, 1, a);
    if (b) field_text(&t, 1, b);
    field_text(&t, 2, out);
    field_text(&t, 3, out);
    field_text(&t, 4, op);
    field_message(&g->nodes, 1, &t);
}

static void value(FaText *to, int field, const char *name, int n) { // [1, n] of floats
    FaText one = {0}, many = {0}, shape = {0}, tensor_type = {0}, type = {0}, info = {0};
    field_int(&one, 1, 1);
    field_int(&many, 1, (uint64_t)n);
    field_message(&shape, 1, &one);
    field_message(&shape, 1, &many);
    field_int(&tensor_type, 1, FLOAT);
    field_message(&tensor_type, 2, &shape);
    field_message(&type, 1, &tensor_type);
    field_text(&info, 1, name);
    field_message(&info, 2, &type);
    field_message(to, field, &info);
}

static FaCode save(Graph *g, const char *made, const char *path, FaError *err) {
    FaText graph = {0}, opset = {0}, model = {0};
    fai_text_bytes(&graph, g->nodes.data, g->nodes.size);
    field_text(&graph, 2, "fascia");
    fai_text_bytes(&graph, g->tensors.data, g->tensors.size);
    field_text(&graph, 10, made);
    fai_text_bytes(&graph, g->inputs.data, g->inputs.size);
    fai_text_bytes(&graph, g->outputs.data, g->outputs.size);
    field_int(&model, 1, IR);
    field_text(&model, 2, "fascia");
    field_text(&model, 3, FA_VERSION_TEXT);
    field_message(&model, 7, &graph);
    field_text(&opset, 1, "");
    field_int(&opset, 2, OPSET);
    field_message(&model, 8, &opset);
    const bool failed =
        g->failed || g->nodes.failed || g->tensors.failed || g->inputs.failed || g->outputs.failed || model.failed;
    FaCode rc = failed ? FA_FAIL_MEMORY(err) : FA_OK;
    if (rc >= 0 && model.size > INT32_MAX)
        rc = FA_FAIL(err, FA_E_LIMIT, NULL, "use fewer components", "ONNX files hold at most 2 GB");
    if (rc >= 0) rc = fai_file_write(path, model.data, model.size, err);
    fai_text_free(&model);
    fai_text_free(&g->nodes), fai_text_free(&g->tensors), fai_text_free(&g->inputs), fai_text_free(&g->outputs);
    return rc;
}

// --- the network ----------------------------------------------------------------------------------------------------

typedef struct Name {
    char text[32];
} Name;
static Name name(const char *what, const char *pass, int i) {
    Name n;
    snprintf(n.text, sizeof n.text, "%s%s%d", what, pass, i);
    return n;
}
#define NAME(what, pass, i) (name(what, pass, i).text)

static void constants(Graph *g) {
    const float third = 1.0f / 3, three = 3;
    tensor(g, "third", &third, 0, 1, false, 1);
    tensor(g, "three", &three, 0, 1, false, 1);
}

static void squash(Graph *g, const char *from, const char *to) {
    node(g, "Mul", from, "third", NAME(to, "_third", 0));
    node(g, "Tanh", NAME(to, "_third", 0), NULL, NAME(to, "_tanh", 0));
    node(g, "Mul", NAME(to, "_tanh", 0), "three", to);
}

// Layers from the sum that goes into the first swish, of one pass; to: g.
static void layers(Graph *g, int nlayer, const char *pass, const char *first, const char *to) {
    const char *sum = first;
    Name kept = {""};
    for (int i = 0; i + 1 < nlayer; i++) {
        const bool last = i + 2 == nlayer;
        node(g, "Sigmoid", sum, NULL, NAME("gate", pass, i));
        node(g, "Mul", sum, NAME("gate", pass, i), NAME("act", pass, i));
        node(g, "MatMul", NAME("act", pass, i), NAME("w", "", i + 1), NAME("dot", pass, i + 1));
        kept = name("sum", pass, i + 1);
        node(g, "Add", NAME("dot", pass, i + 1), NAME("b", "", i + 1), last ? to : kept.text);
        sum = kept.text;
    }
}

static void weights(Graph *g, int nlayer, const int *width, const float *const *weight, const float *const *bias) {
    for (int i = 0; i < nlayer; i++) {
        if (i) tensor(g, NAME("w", "", i), weight[i], width[i], width[i + 1], true, 1);
        tensor(g, NAME("b", "", i), bias[i], 0, width[i + 1], false, 1);
    }
}

// Columns from..to of rows of `stride`.
static float *columns(const float *x, int rows, int stride, int from, int to) {
    float *c = FA_NEW((size_t)rows * (size_t)FA_MAX(1, to - from), float);
    for (int r = 0; c && r < rows; r++)
        memcpy(c + (size_t)r * (size_t)(to - from), x + (size_t)r * (size_t)stride + from,
               (size_t)(to - from) * sizeof *c);
    return c;
}

// The first basis has all vertices (columns over deviations), in rows for MatMul.
static void encoder(Graph *g, const char *to, const float *column, const float *deviation, int n3, int count) {
    float *scaled = FA_NEW((size_t)n3 * (size_t)count, float);
    if (!scaled) {
        g->failed = true;
        return;
    }
    for (size_t k = 0; k < (size_t)count; k++)
        for (size_t i = 0; i < (size_t)n3; i++) scaled[k * (size_t)n3 + i] = column[k * (size_t)n3 + i] / deviation[k];
    tensor(g, to, scaled, n3, count, true, 1);
    fa_free(scaled);
}

static void tail(Graph *g, int nc, int nd, int nout, const float *ridge, const float *basis, const float *by) {
    float *scaled = FA_NEW((size_t)nc * (size_t)nout, float);
    if (!scaled) {
        g->failed = true;
        return;
    }
    for (size_t c = 0; c < (size_t)nc; c++)
        for (size_t i = 0; i < (size_t)nout; i++)
            scaled[c * (size_t)nout + i] = basis[c * (size_t)nout + i] * (by ? by[c] : 1);
    tensor(g, "ridge", ridge, nd, nc, true, 1);
    tensor(g, "basis", scaled, nc, nout, false, 1);
    node(g, "Sub", "moved", "still", "residual");
    node(g, "MatMul", "z", "ridge", "linear");
    node(g, "Add", "linear", "residual", "targets");
    node(g, "MatMul", "targets", "basis", "correction");
    fa_free(scaled);
}

FaCode fai_onnx_save(const FaNet *net, const char *path, FaError *err) {
    Graph g = {0};
    const int n3 = 3 * net->nvert, first = net->width[1], in = net->width[0], one = net->nlayer == 1;
    const float *const *weight = (const float *const *)net->weight, *const *bias = (const float *const *)net->bias;
    float *by_z = columns(weight[0], first, in, 0, net->nd), *by_q = columns(weight[0], first, in, net->nd, in);
    if (!by_z || !by_q) {
        fa_free(by_z), fa_free(by_q);
        return FA_FAIL_MEMORY(err);
    }
    constants(&g);
    value(&g.inputs, 11, "difference", n3);
    value(&g.inputs, 11, "neutral", n3);
    value(&g.outputs, 12, "correction", n3);
    encoder(&g, "encode_difference", net->vd, net->sd, n3, net->nd);
    node(&g, "MatMul", "difference", "encode_difference", "components");
    squash(&g, "components", "z");
    weights(&g, net->nlayer, net->width, weight, bias);
    tensor(&g, "w_z", by_z, net->nd, first, true, 1);
    node(&g, "MatMul", "z", "w_z", "from_z");
    if (net->nn) {
        tensor(&g, "mean", net->mean, 0, n3, false, 1);
        encoder(&g, "encode_neutral", net->vn, net->sn, n3, net->nn);
        node(&g, "Sub", "neutral", "mean", "person");
        node(&g, "MatMul", "person", "encode_neutral", "traits");
        squash(&g, "traits", "q");
        tensor(&g, "w_q", by_q, net->nn, first, true, 1);
        node(&g, "MatMul", "q", "w_q", "from_q");
    } else {
        const float none = 0; // the input is there, and says nothing
        tensor(&g, "nothing", &none, 0, 1, false, 1);
        node(&g, "Mul", "from_z", "nothing", "from_q");
    }
    node(&g, "Add", "from_q", "b0", one ? "still" : "sum_still");
    node(&g, "Add", one ? "still" : "sum_still", "from_z", one ? "moved" : "sum_moved");
    if (!one) {
        layers(&g, net->nlayer, "_still", "sum_still", "still");
        layers(&g, net->nlayer, "_moved", "sum_moved", "moved");
    }
    tail(&g, net->nc, net->nd, n3, net->ridge, net->u, net->su);
    fa_free(by_z), fa_free(by_q);
    return save(&g, net->made, path, err);
}

FaCode fai_onnx_save_bound(const FaOnnxBound *b, const char *path, FaError *err) {
    Graph g = {0};
    const bool one = b->nlayer == 1;
    constants(&g);
    value(&g.inputs, 11, "weights", b->nweight);
    value(&g.outputs, 12, "correction", b->nout);
    tensor(&g, "encode", b->encode, b->nweight, b->nd, true, 1);
    node(&g, "MatMul", "weights", "encode", "components");
    squash(&g, "components", "z");
    weights(&g, b->nlayer, b->width, b->weight, b->bias);
    tensor(&g, "w_z", b->weight[0], b->nd, b->width[1], true, 1);
    tensor(&g, "still", b->still, 0, b->nc, false, 1);
    node(&g, "MatMul", "z", "w_z", "from_z");
    node(&g, "Add", "from_z", "b0", one ? "moved" : "sum_moved");
    if (!one) layers(&g, b->nlayer, "_moved", "sum_moved", "moved");
    tail(&g, b->nc, b->nd, b->nout, b->ridge, b->basis, NULL);
    return save(&g, b->made ? b->made : "fascia " FA_VERSION_TEXT, path, err);
}

FaCode fa_network_onnx(const char *net, const char *onnx, FaError *err) {
    FaNet n;
    FA_TRY(fai_net_load(net, &n, err));
    FaCode rc = fai_onnx_save(&n, onnx, err);
    fai_net_free(&n);
    return rc;
}
