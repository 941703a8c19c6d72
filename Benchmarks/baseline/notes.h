#ifndef BASELINE_NOTES_H
#define BASELINE_NOTES_H

#include <stdint.h>

#include "json.h"

// Notes in requests and answers, as Skylight's clients write and read them.

/// Who saves them, and on which device.
#define NOTE_USER "_0123456789abcdef0123456789abcdef"
#define NOTE_DEVICE "iCloud"
/// Fields that have an index.
#define NOTE_INDEXED 5

/// Appends one operation of a request to records/modify.
void note_write_operation(struct buffer *request, uint64_t number, uint64_t version, const char *separator);

/// Finds the values of the indexed fields, in the order of the names; of length 0 where there is none.
void note_find_values(struct slice fields, struct slice values[NOTE_INDEXED]);

/// Appends a record as answers have it.
void note_write(
    struct buffer *buffer, const char *name, size_t name_length, int64_t position, const char *fields, size_t fields_length, int64_t created,
    struct slice created_by, struct slice created_on, int64_t modified, struct slice modified_by, struct slice modified_on);

#endif
