// A CUDA driver that does nothing but write down what it is told, as cuda.h declares it.
// The handle of a kernel is the number of its parameters, each of which is read as 8 bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *func;
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void **kernelParams, **extra;
    void *kern, *ctx;
} params_t;

typedef struct {
    char text[4096];
} node_t;

typedef struct {
    node_t *nodes[64];
    char edges[64][256];
    int count;
    void (*destroy[64])(void *);
    void *kept[64];
    int objects;
} graph_t;

static char told[1 << 16];
static int fails;  // the error that the next call but launches of kernels gives
static int capturing;
static int quiet;  // nothing is written down
static graph_t user_graph;

const char *stub_told(void) { return told; }
void stub_clear(void) { told[0] = 0; }
void stub_fail(int error) { fails = error; }
void stub_quiet(int on) { quiet = on; }
void stub_capture(int on) { capturing = on; }
void stub_end_user_graph(void)
{
    for (int i = 0; i < user_graph.objects; ++i) user_graph.destroy[i](user_graph.kept[i]);
    user_graph.objects = 0;
}

static void tell(const char *line)
{
    if (quiet) return;
    if (strlen(told) + strlen(line) + 2 < sizeof told) strcat(strcat(told, line), "\n");
}

static int failed(void)
{
    int error = fails;
    fails = 0;
    return error;
}

static void describe(char *out, const params_t *p)
{
    int at = sprintf(out, "grid %u,%u,%u block %u,%u,%u shared %u:", p->gridDimX, p->gridDimY,
                     p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ, p->sharedMemBytes);
    if (p->extra || p->kern || p->ctx) at += sprintf(out + at, " extra");
    for (intptr_t i = 0; i < (intptr_t)p->func; ++i)
        at += sprintf(out + at, " %llx", (unsigned long long)*(uint64_t *)p->kernelParams[i]);
}

int cuGraphCreate(graph_t **graph, unsigned flags)
{
    *graph = calloc(1, sizeof **graph);
    return flags ? 1 : failed();
}

int cuGraphAddKernelNode_v2(node_t **node, graph_t *graph, node_t *const *after, size_t count,
                            const params_t *p)
{
    char *edge = graph->edges[graph->count];
    for (size_t i = 0; i < count; ++i)
        for (int n = 0; n < graph->count; ++n)
            if (graph->nodes[n] == after[i]) edge += sprintf(edge, " after %d", n);
    *node = graph->nodes[graph->count++] = calloc(1, sizeof **node);
    describe((*node)->text, p);
    return failed();
}

int cuGraphInstantiateWithFlags(graph_t **instance, graph_t *graph, unsigned long long flags)
{
    *instance = malloc(sizeof **instance);
    memcpy(*instance, graph, sizeof *graph);
    tell("instantiate");
    return flags ? 1 : failed();
}

int cuGraphExecKernelNodeSetParams_v2(graph_t *instance, node_t *node, const params_t *p)
{
    (void)instance;
    if (!quiet) describe(node->text, p);
    tell("set");
    return failed();
}

int cuGraphLaunch(graph_t *instance, void *stream)
{
    int error = failed();
    if (error || quiet) return error;
    char line[8192];
    sprintf(line, "launch on %llx", (unsigned long long)(uintptr_t)stream);
    tell(line);
    for (int n = 0; n < instance->count; ++n) {
        sprintf(line, "%s%s", instance->nodes[n]->text, instance->edges[n]);
        tell(line);
    }
    return 0;
}

int cuGraphExecDestroy(graph_t *instance)
{
    tell("destroy instance");
    free(instance);
    return 0;
}

int cuGraphDestroy(graph_t *graph)
{
    tell("destroy graph");
    free(graph);
    return 0;
}

int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, graph_t **graph,
                              void *const **nodes, size_t *count)
{
    (void)stream;
    if (nodes || count) return 1;
    *status = capturing;
    *id = 1;
    *graph = &user_graph;
    return failed();
}

int cuUserObjectCreate(void **object, void *value, void (*destroy)(void *), unsigned count,
                       unsigned flags)
{
    if (count != 1 || flags != 1) return 1;
    user_graph.kept[user_graph.objects] = value;
    user_graph.destroy[user_graph.objects] = destroy;
    *object = &user_graph;
    return failed();
}

int cuGraphRetainUserObject(graph_t *graph, void *object, unsigned count, unsigned flags)
{
    if (graph != &user_graph || object != &user_graph || count != 1 || flags != 1) return 1;
    ++graph->objects;
    return failed();
}

int cuUserObjectRelease(void *object, unsigned count)
{
    (void)object, (void)count;
    return 0;
}

int cuLaunchKernel(void *func, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
    if (quiet) return 0;
    char line[8192];
    params_t p = {func, gx, gy, gz, bx, by, bz, shared, params, extra, 0, 0};
    int at = sprintf(line, "kernel on %llx: ", (unsigned long long)(uintptr_t)stream);
    describe(line + at, &p);
    tell(line);
    return 0;
}
