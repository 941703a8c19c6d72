#include "CEmbeddedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char document[] = {
#embed "../../docs/openapi.json" suffix(, 0)
};

const char *embedded_openapi(void) { return document; }
