#include "CEmbeddedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct embedded_file files[] = {
    {"archive.js", (const char[]){
#embed "../../Public/archive.js" suffix(, 0)
    }},
    {"columns.js", (const char[]){
#embed "../../Public/columns.js" suffix(, 0)
    }},
    {"copy.js", (const char[]){
#embed "../../Public/copy.js" suffix(, 0)
    }},
    {"downloads.js", (const char[]){
#embed "../../Public/downloads.js" suffix(, 0)
    }},
    {"dropping.js", (const char[]){
#embed "../../Public/dropping.js" suffix(, 0)
    }},
    {"edit.js", (const char[]){
#embed "../../Public/edit.js" suffix(, 0)
    }},
    {"feed.js", (const char[]){
#embed "../../Public/feed.js" suffix(, 0)
    }},
    {"fetched.js", (const char[]){
#embed "../../Public/fetched.js" suffix(, 0)
    }},
    {"fetcher.js", (const char[]){
#embed "../../Public/fetcher.js" suffix(, 0)
    }},
    {"fetching.js", (const char[]){
#embed "../../Public/fetching.js" suffix(, 0)
    }},
    {"find.js", (const char[]){
#embed "../../Public/find.js" suffix(, 0)
    }},
    {"handheld.js", (const char[]){
#embed "../../Public/handheld.js" suffix(, 0)
    }},
    {"json.js", (const char[]){
#embed "../../Public/json.js" suffix(, 0)
    }},
    {"keys.js", (const char[]){
#embed "../../Public/keys.js" suffix(, 0)
    }},
    {"live.js", (const char[]){
#embed "../../Public/live.js" suffix(, 0)
    }},
    {"menus.js", (const char[]){
#embed "../../Public/menus.js" suffix(, 0)
    }},
    {"narrow.js", (const char[]){
#embed "../../Public/narrow.js" suffix(, 0)
    }},
    {"picking.js", (const char[]){
#embed "../../Public/picking.js" suffix(, 0)
    }},
    {"plist.js", (const char[]){
#embed "../../Public/plist.js" suffix(, 0)
    }},
    {"preview.js", (const char[]){
#embed "../../Public/preview.js" suffix(, 0)
    }},
    {"question.js", (const char[]){
#embed "../../Public/question.js" suffix(, 0)
    }},
    {"recent.js", (const char[]){
#embed "../../Public/recent.js" suffix(, 0)
    }},
    {"requests.js", (const char[]){
#embed "../../Public/requests.js" suffix(, 0)
    }},
    {"sha256.js", (const char[]){
#embed "../../Public/sha256.js" suffix(, 0)
    }},
    {"shortcuts.js", (const char[]){
#embed "../../Public/shortcuts.js" suffix(, 0)
    }},
    {"signin.js", (const char[]){
#embed "../../Public/signin.js" suffix(, 0)
    }},
    {"sizes.js", (const char[]){
#embed "../../Public/sizes.js" suffix(, 0)
    }},
    {"skylight.css", (const char[]){
#embed "../../Public/skylight.css" suffix(, 0)
    }},
    {"skylight.js", (const char[]){
#embed "../../Public/skylight.js" suffix(, 0)
    }},
    {"skylight.svg", (const char[]){
#embed "../../Public/skylight.svg" suffix(, 0)
    }},
    {"theme.js", (const char[]){
#embed "../../Public/theme.js" suffix(, 0)
    }},
    {"themes.js", (const char[]){
#embed "../../Public/themes.js" suffix(, 0)
    }},
    {"timeline.js", (const char[]){
#embed "../../Public/timeline.js" suffix(, 0)
    }},
    {"times.js", (const char[]){
#embed "../../Public/times.js" suffix(, 0)
    }},
    {"tokens.js", (const char[]){
#embed "../../Public/tokens.js" suffix(, 0)
    }},
    {"typing.js", (const char[]){
#embed "../../Public/typing.js" suffix(, 0)
    }},
    {"upload.js", (const char[]){
#embed "../../Public/upload.js" suffix(, 0)
    }},
    {0, 0},
};

const struct embedded_file *embedded_public(void) { return files; }
