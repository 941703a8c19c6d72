#include "json.h"

#include <stdlib.h>
#include <string.h>

static const char *after_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\') p++;
    return p < end ? p + 1 : end;
}

static const char *after_value(const char *p, const char *end) {
    int depth = 0;
    while (p < end) {
        char c = *p;
        if (c == '"') {
            p = after_string(p, end);
            if (!depth) return p;
            continue;
        }
        if (c == '{' || c == '[') depth++;
        if (c == '}' || c == ']') {
            if (!depth) return p;
            if (!--depth) return p + 1;
        }
        if (c == ',' && !depth) return p;
        p++;
    }
    return end;
}

int json_next(struct slice *cursor, struct slice *name, struct slice *value) {
    const char *p = cursor->start, *end = p + cursor->length;
    if (p >= end || *p == '}' || *p == ']') return 0;
    // At the opening bracket or at the comma before the next one.
    p++;
    if (p >= end || *p == '}' || *p == ']') return 0;
    name->length = 0;
    const char *first = *p == '"' ? after_string(p, end) : p;
    if (*p == '"' && first < end && *first == ':') {
        name->start = p + 1;
        name->length = (size_t)(first - p) - 2;
        p = first + 1;
    }
    value->start = p;
    p = after_value(p, end);
    value->length = (size_t)(p - value->start);
    cursor->length = (size_t)(end - p);
    cursor->start = p;
    return 1;
}

struct slice json_member(struct slice object, const char *wanted) {
    struct slice name, value;
    size_t length = strlen(wanted);
    while (json_next(&object, &name, &value))
        if (name.length == length && memcmp(name.start, wanted, length) == 0) return value;
    return (struct slice){0, 0};
}

struct slice json_string(struct slice value) {
    if (value.length < 2) return (struct slice){"", 0};
    return (struct slice){value.start + 1, value.length - 2};
}

int64_t json_integer(struct slice value) { return value.length ? strtoll(value.start, NULL, 10) : 0; }

void append(struct buffer *buffer, const char *bytes, size_t length) {
    if (buffer->length + length > buffer->capacity) {
        buffer->capacity = (buffer->length + length) * 2;
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (!buffer->bytes) abort();
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
}

void append_text(struct buffer *buffer, const char *text) { append(buffer, text, strlen(text)); }

static void append_number(struct buffer *buffer, uint64_t number, unsigned base) {
    char digits[24], *p = digits + sizeof digits;
    do *--p = "0123456789abcdefghijklmnopqrstuvwxyz"[number % base];
    while (number /= base);
    append(buffer, p, (size_t)(digits + sizeof digits - p));
}

void append_integer(struct buffer *buffer, int64_t integer) {
    if (integer < 0) append(buffer, "-", 1);
    append_number(buffer, integer < 0 ? -(uint64_t)integer : (uint64_t)integer, 10);
}

void append_tag(struct buffer *buffer, int64_t number) { append_number(buffer, (uint64_t)number, 36); }

void append_string(struct buffer *buffer, const char *text, size_t length) {
    static const char hex[] = "0123456789abcdef";
    append(buffer, "\"", 1);
    size_t copied = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        append(buffer, text + copied, i - copied);
        if (c < 0x20) {
            char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            append(buffer, escape, 6);
        } else {
            char escape[2] = {'\\', (char)c};
            append(buffer, escape, 2);
        }
        copied = i + 1;
    }
    append(buffer, text + copied, length - copied);
    append(buffer, "\"", 1);
}
