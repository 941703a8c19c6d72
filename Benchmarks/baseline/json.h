#ifndef BASELINE_JSON_H
#define BASELINE_JSON_H

#include <stddef.h>
#include <stdint.h>

// Just enough JSON: reading takes text apart without copying it, writing appends to a buffer that grows.

struct slice {
    const char *start;
    size_t length;
};

/// Takes the next member of an object, or the next element of an array (whose name is empty).
/// `cursor` is at the bracket at first. Returns 0 at the end and for text that is not JSON.
int json_next(struct slice *cursor, struct slice *name, struct slice *value);

/// The member of an object, of length 0 when there is none.
struct slice json_member(struct slice object, const char *name);

/// The text inside a string's quotes. Escapes stay as they are: the names and texts of the benchmarks have none.
struct slice json_string(struct slice value);

int64_t json_integer(struct slice value);

struct buffer {
    char *bytes;
    size_t length, capacity;
};

void append(struct buffer *buffer, const char *bytes, size_t length);
void append_text(struct buffer *buffer, const char *text);
void append_integer(struct buffer *buffer, int64_t integer);
/// Appends a string in quotes, with what must be escaped escaped.
void append_string(struct buffer *buffer, const char *text, size_t length);
/// Appends a number of base 36.
void append_tag(struct buffer *buffer, int64_t number);

#endif
