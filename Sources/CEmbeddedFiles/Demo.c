// Written by Scripts/embed-files.
#include "CEmbeddedFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

// Arrays of their own, because early compilers with #embed crash on it in a compound literal.
static const unsigned char Evening_png[] = {
#embed "Demo/Evening.png"
};
static const unsigned char Morning_png[] = {
#embed "Demo/Morning.png"
};
static const unsigned char Night_png[] = {
#embed "Demo/Night.png"
};
static const unsigned char Noon_png[] = {
#embed "Demo/Noon.png"
};
static const unsigned char Olive_oil_png[] = {
#embed "Demo/Olive oil.png"
};
static const unsigned char Salzkammergut_png[] = {
#embed "Demo/Salzkammergut.png"
};
static const unsigned char Shelf_png[] = {
#embed "Demo/Shelf.png"
};
static const unsigned char Sourdough_bread_png[] = {
#embed "Demo/Sourdough bread.png"
};
static const unsigned char Stamps_png[] = {
#embed "Demo/Stamps.png"
};
static const unsigned char ada_png[] = {
#embed "Demo/ada.png"
};
static const unsigned char alan_png[] = {
#embed "Demo/alan.png"
};
static const unsigned char annabella_png[] = {
#embed "Demo/annabella.png"
};
static const unsigned char byron_png[] = {
#embed "Demo/byron.png"
};
static const unsigned char drawing_with_a_script_svg[] = {
#embed "Demo/drawing with a script.svg"
};
static const unsigned char grace_png[] = {
#embed "Demo/grace.png"
};
static const unsigned char leaflet_pdf[] = {
#embed "Demo/leaflet.pdf"
};
static const unsigned char mary_png[] = {
#embed "Demo/mary.png"
};
static const unsigned char photo_17_png[] = {
#embed "Demo/photo-17.png"
};
static const unsigned char photo_29_png[] = {
#embed "Demo/photo-29.png"
};
static const unsigned char photo_41_png[] = {
#embed "Demo/photo-41.png"
};
static const unsigned char photo_53_png[] = {
#embed "Demo/photo-53.png"
};
static const unsigned char preferences_binary_plist[] = {
#embed "Demo/preferences-binary.plist"
};
static const unsigned char preferences_plist[] = {
#embed "Demo/preferences.plist"
};
static const unsigned char prices_csv[] = {
#embed "Demo/prices.csv"
};
static const unsigned char settings_json[] = {
#embed "Demo/settings.json"
};
static const unsigned char walk_gpx[] = {
#embed "Demo/walk.gpx"
};

static const struct embedded_bytes files[] = {
    {"Evening.png", Evening_png, sizeof Evening_png},
    {"Morning.png", Morning_png, sizeof Morning_png},
    {"Night.png", Night_png, sizeof Night_png},
    {"Noon.png", Noon_png, sizeof Noon_png},
    {"Olive oil.png", Olive_oil_png, sizeof Olive_oil_png},
    {"Salzkammergut.png", Salzkammergut_png, sizeof Salzkammergut_png},
    {"Shelf.png", Shelf_png, sizeof Shelf_png},
    {"Sourdough bread.png", Sourdough_bread_png, sizeof Sourdough_bread_png},
    {"Stamps.png", Stamps_png, sizeof Stamps_png},
    {"ada.png", ada_png, sizeof ada_png},
    {"alan.png", alan_png, sizeof alan_png},
    {"annabella.png", annabella_png, sizeof annabella_png},
    {"byron.png", byron_png, sizeof byron_png},
    {"drawing with a script.svg", drawing_with_a_script_svg, sizeof drawing_with_a_script_svg},
    {"grace.png", grace_png, sizeof grace_png},
    {"leaflet.pdf", leaflet_pdf, sizeof leaflet_pdf},
    {"mary.png", mary_png, sizeof mary_png},
    {"photo-17.png", photo_17_png, sizeof photo_17_png},
    {"photo-29.png", photo_29_png, sizeof photo_29_png},
    {"photo-41.png", photo_41_png, sizeof photo_41_png},
    {"photo-53.png", photo_53_png, sizeof photo_53_png},
    {"preferences-binary.plist", preferences_binary_plist, sizeof preferences_binary_plist},
    {"preferences.plist", preferences_plist, sizeof preferences_plist},
    {"prices.csv", prices_csv, sizeof prices_csv},
    {"settings.json", settings_json, sizeof settings_json},
    {"walk.gpx", walk_gpx, sizeof walk_gpx},
    {0, 0, 0},
};

const struct embedded_bytes *embedded_demo_files(void) { return files; }
