#ifndef BENCHMARK_RECORDS_H
#define BENCHMARK_RECORDS_H

#include <stddef.h>
#include <stdint.h>

// The records that every side of the benchmarks saves: notes of six fields, about 500 bytes of JSON, all made from a number.

/// Bytes that the longest name takes, with the NUL.
#define BENCHMARK_NAME_SIZE 40
/// Bytes that the longest fields take, with the NUL.
#define BENCHMARK_FIELDS_SIZE 1024
/// Notes by one author, in each thousand authors' worth of notes.
#define BENCHMARK_AUTHORS 1000

/// Writes the record name of a note: a UUID as CloudKit's clients make them, so that names come in no order.
/// Returns its length.
size_t benchmark_name(uint64_t number, char *name);

/// Writes the fields of a note as JSON, in the order and the form in which Skylight keeps them. Another version has another `rank`
/// and is else the same. Returns the length.
size_t benchmark_fields(uint64_t number, uint64_t version, char *fields);

/// Writes the author of a note, which a thousandth of all notes share. Returns its length.
size_t benchmark_author(uint64_t number, char *author);

/// A number that looks random, the same for the same seed.
uint64_t benchmark_hash(uint64_t seed);

#endif
