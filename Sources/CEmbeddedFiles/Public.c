// Written by Scripts/embed-files.
#include "CEmbeddedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// Arrays of their own, because early compilers with #embed crash on it in a compound literal.
static const char archive_js[] = {
#embed "../../Public/archive.js" suffix(, 0)
};
static const char beside_js[] = {
#embed "../../Public/beside.js" suffix(, 0)
};
static const char celledit_js[] = {
#embed "../../Public/celledit.js" suffix(, 0)
};
static const char cells_js[] = {
#embed "../../Public/cells.js" suffix(, 0)
};
static const char columns_js[] = {
#embed "../../Public/columns.js" suffix(, 0)
};
static const char connect_js[] = {
#embed "../../Public/connect.js" suffix(, 0)
};
static const char copy_js[] = {
#embed "../../Public/copy.js" suffix(, 0)
};
static const char device_js[] = {
#embed "../../Public/device.js" suffix(, 0)
};
static const char downloads_js[] = {
#embed "../../Public/downloads.js" suffix(, 0)
};
static const char dropping_js[] = {
#embed "../../Public/dropping.js" suffix(, 0)
};
static const char edit_js[] = {
#embed "../../Public/edit.js" suffix(, 0)
};
static const char feed_js[] = {
#embed "../../Public/feed.js" suffix(, 0)
};
static const char fetched_js[] = {
#embed "../../Public/fetched.js" suffix(, 0)
};
static const char fetcher_js[] = {
#embed "../../Public/fetcher.js" suffix(, 0)
};
static const char fetching_js[] = {
#embed "../../Public/fetching.js" suffix(, 0)
};
static const char first_rendering_js[] = {
#embed "../../Public/first-rendering.js" suffix(, 0)
};
static const char grid_js[] = {
#embed "../../Public/grid.js" suffix(, 0)
};
static const char handheld_js[] = {
#embed "../../Public/handheld.js" suffix(, 0)
};
static const char importing_js[] = {
#embed "../../Public/importing.js" suffix(, 0)
};
static const char json_js[] = {
#embed "../../Public/json.js" suffix(, 0)
};
static const char keys_js[] = {
#embed "../../Public/keys.js" suffix(, 0)
};
static const char live_js[] = {
#embed "../../Public/live.js" suffix(, 0)
};
static const char marked_js[] = {
#embed "../../Public/marked.js" suffix(, 0)
};
static const char menus_js[] = {
#embed "../../Public/menus.js" suffix(, 0)
};
static const char narrow_js[] = {
#embed "../../Public/narrow.js" suffix(, 0)
};
static const char notices_js[] = {
#embed "../../Public/notices.js" suffix(, 0)
};
static const char palette_js[] = {
#embed "../../Public/palette.js" suffix(, 0)
};
static const char picking_js[] = {
#embed "../../Public/picking.js" suffix(, 0)
};
static const char places_js[] = {
#embed "../../Public/places.js" suffix(, 0)
};
static const char plist_js[] = {
#embed "../../Public/plist.js" suffix(, 0)
};
static const char preview_js[] = {
#embed "../../Public/preview.js" suffix(, 0)
};
static const char question_js[] = {
#embed "../../Public/question.js" suffix(, 0)
};
static const char recent_js[] = {
#embed "../../Public/recent.js" suffix(, 0)
};
static const char requests_js[] = {
#embed "../../Public/requests.js" suffix(, 0)
};
static const char sha256_js[] = {
#embed "../../Public/sha256.js" suffix(, 0)
};
static const char shortcuts_js[] = {
#embed "../../Public/shortcuts.js" suffix(, 0)
};
static const char signin_js[] = {
#embed "../../Public/signin.js" suffix(, 0)
};
static const char sizes_js[] = {
#embed "../../Public/sizes.js" suffix(, 0)
};
static const char skylight_css[] = {
#embed "../../Public/skylight.css" suffix(, 0)
};
static const char skylight_js[] = {
#embed "../../Public/skylight.js" suffix(, 0)
};
static const char skylight_svg[] = {
#embed "../../Public/skylight.svg" suffix(, 0)
};
static const char themes_js[] = {
#embed "../../Public/themes.js" suffix(, 0)
};
static const char timeline_js[] = {
#embed "../../Public/timeline.js" suffix(, 0)
};
static const char times_js[] = {
#embed "../../Public/times.js" suffix(, 0)
};
static const char tokens_js[] = {
#embed "../../Public/tokens.js" suffix(, 0)
};
static const char typing_js[] = {
#embed "../../Public/typing.js" suffix(, 0)
};
static const char upload_js[] = {
#embed "../../Public/upload.js" suffix(, 0)
};

static const struct embedded_file files[] = {
    {"archive.js", archive_js},
    {"beside.js", beside_js},
    {"celledit.js", celledit_js},
    {"cells.js", cells_js},
    {"columns.js", columns_js},
    {"connect.js", connect_js},
    {"copy.js", copy_js},
    {"device.js", device_js},
    {"downloads.js", downloads_js},
    {"dropping.js", dropping_js},
    {"edit.js", edit_js},
    {"feed.js", feed_js},
    {"fetched.js", fetched_js},
    {"fetcher.js", fetcher_js},
    {"fetching.js", fetching_js},
    {"first-rendering.js", first_rendering_js},
    {"grid.js", grid_js},
    {"handheld.js", handheld_js},
    {"importing.js", importing_js},
    {"json.js", json_js},
    {"keys.js", keys_js},
    {"live.js", live_js},
    {"marked.js", marked_js},
    {"menus.js", menus_js},
    {"narrow.js", narrow_js},
    {"notices.js", notices_js},
    {"palette.js", palette_js},
    {"picking.js", picking_js},
    {"places.js", places_js},
    {"plist.js", plist_js},
    {"preview.js", preview_js},
    {"question.js", question_js},
    {"recent.js", recent_js},
    {"requests.js", requests_js},
    {"sha256.js", sha256_js},
    {"shortcuts.js", shortcuts_js},
    {"signin.js", signin_js},
    {"sizes.js", sizes_js},
    {"skylight.css", skylight_css},
    {"skylight.js", skylight_js},
    {"skylight.svg", skylight_svg},
    {"themes.js", themes_js},
    {"timeline.js", timeline_js},
    {"times.js", times_js},
    {"tokens.js", tokens_js},
    {"typing.js", typing_js},
    {"upload.js", upload_js},
    {0, 0},
};

const struct embedded_file *embedded_public(void) { return files; }
