#include "benchmark_records.h"

#include <stdio.h>
#include <string.h>

// SplitMix64 (Steele, Lea and Flood: Fast Splittable Pseudorandom Number Generators).
uint64_t benchmark_hash(uint64_t seed) {
    uint64_t z = seed * 0x9E3779B97F4A7C15u + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t benchmark_name(uint64_t number, char *name) {
    uint64_t high = benchmark_hash(number * 2 + 1), low = benchmark_hash(number * 2 + 2);
    return (size_t)snprintf(
        name, BENCHMARK_NAME_SIZE, "%08X-%04X-4%03X-A%03X-%012llX", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xFFFF),
        (unsigned)(high & 0xFFF), (unsigned)(low >> 52), (unsigned long long)(low & 0xFFFFFFFFFFFF));
}

size_t benchmark_author(uint64_t number, char *author) {
    return (size_t)snprintf(author, BENCHMARK_NAME_SIZE, "author-%03u", (unsigned)(benchmark_hash(number ^ 0xA0A0) % BENCHMARK_AUTHORS));
}

size_t benchmark_fields(uint64_t number, uint64_t version, char *fields) {
    static const char *const words[] = {"apple",  "boat",  "cloud", "desert", "echo",  "forest", "glass", "harbor",
                                        "island", "jungle", "kite", "lemon",  "meadow", "night", "ocean", "paper"};
    uint64_t random = benchmark_hash(number ^ 0x7E57);
    char text[256], author[BENCHMARK_NAME_SIZE];
    size_t length = 0;
    while (length < 200) {
        uint64_t word = benchmark_hash(random + length);
        length += (size_t)snprintf(text + length, sizeof text - length, "%s ", words[word & 15]);
    }
    text[length - 1] = 0;
    benchmark_author(number, author);
    return (size_t)snprintf(
        fields, BENCHMARK_FIELDS_SIZE,
        "{\"at\":{\"value\":%llu,\"type\":\"TIMESTAMP\"},\"author\":{\"value\":\"%s\",\"type\":\"STRING\"},"
        "\"done\":{\"value\":%u,\"type\":\"INT64\"},\"rank\":{\"value\":%llu,\"type\":\"INT64\"},"
        "\"text\":{\"value\":\"%s\",\"type\":\"STRING\"},\"title\":{\"value\":\"Note %llu %s\",\"type\":\"STRING\"}}",
        1700000000000ull + (unsigned long long)(random % 31536000000u), author, (unsigned)(random & 1),
        (unsigned long long)(benchmark_hash(number * 31 + version) % 1000000000u), text, (unsigned long long)number, words[random >> 60]);
}
