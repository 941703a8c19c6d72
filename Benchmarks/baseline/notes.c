#include "notes.h"

#include <string.h>

#include "benchmark_records.h"

void note_write_operation(struct buffer *request, uint64_t number, uint64_t version, const char *separator) {
    char name[BENCHMARK_NAME_SIZE], fields[BENCHMARK_FIELDS_SIZE];
    size_t name_length = benchmark_name(number, name), fields_length = benchmark_fields(number, version, fields);
    append_text(request, separator);
    append_text(request, "{\"operationType\":\"forceReplace\",\"record\":{\"recordName\":\"");
    append(request, name, name_length);
    append_text(request, "\",\"recordType\":\"Note\",\"fields\":");
    append(request, fields, fields_length);
    append_text(request, "}}");
}

static const char *const indexed[NOTE_INDEXED] = {"at", "author", "done", "rank", "title"};

void note_find_values(struct slice fields, struct slice values[NOTE_INDEXED]) {
    struct slice name, field;
    memset(values, 0, sizeof *values * NOTE_INDEXED);
    while (json_next(&fields, &name, &field))
        for (int i = 0; i < NOTE_INDEXED; i++)
            if (name.length == strlen(indexed[i]) && memcmp(name.start, indexed[i], name.length) == 0) values[i] = json_member(field, "value");
}

void note_write(
    struct buffer *buffer, const char *name, size_t name_length, int64_t position, const char *fields, size_t fields_length, int64_t created,
    struct slice created_by, struct slice created_on, int64_t modified, struct slice modified_by, struct slice modified_on) {
    append_text(buffer, "{\"recordName\":");
    append_string(buffer, name, name_length);
    append_text(buffer, ",\"recordType\":\"Note\",\"fields\":");
    append(buffer, fields, fields_length);
    append_text(buffer, ",\"pluginFields\":{},\"recordChangeTag\":\"");
    append_tag(buffer, position);
    append_text(buffer, "\",\"created\":{\"timestamp\":");
    append_integer(buffer, created);
    append_text(buffer, ",\"userRecordName\":");
    append_string(buffer, created_by.start, created_by.length);
    append_text(buffer, ",\"deviceID\":");
    append_string(buffer, created_on.start, created_on.length);
    append_text(buffer, "},\"modified\":{\"timestamp\":");
    append_integer(buffer, modified);
    append_text(buffer, ",\"userRecordName\":");
    append_string(buffer, modified_by.start, modified_by.length);
    append_text(buffer, ",\"deviceID\":");
    append_string(buffer, modified_on.start, modified_on.length);
    append_text(buffer, "},\"deleted\":false,\"zoneID\":{\"zoneName\":\"Bench\",\"ownerRecordName\":");
    append_string(buffer, NOTE_USER, sizeof NOTE_USER - 1);
    append_text(buffer, ",\"zoneType\":\"REGULAR_CUSTOM_ZONE\"}}");
}
