// The least work that keeps an uploaded file, in a small C program: it reads the file, writes it to a temporary file, hashes it on
// the way (SHA-256), syncs it, names it by its hash, and syncs the folder.
//
//   keeper FILE FOLDER   keeps a file in a folder, and says in a line of JSON how long that took

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    fprintf(stderr, "keeper: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "keeper FILE FOLDER\n");
        return 64;
    }
    static unsigned char bytes[256 << 10];
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int sum_length;
    char unfinished[4096], kept[4096];
    double start = seconds();
    int input = open(arguments[1], O_RDONLY);
    if (input < 0) fail(arguments[1]);
    snprintf(unfinished, sizeof unfinished, "%s/unfinished", arguments[2]);
    int output = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (output < 0 || !context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL)) fail(unfinished);
    long long total = 0;
    for (ssize_t length; (length = read(input, bytes, sizeof bytes)) != 0; total += length) {
        if (length < 0 || write(output, bytes, (size_t)length) != length) fail("copy");
        if (!EVP_DigestUpdate(context, bytes, (size_t)length)) fail("hash");
    }
    if (!EVP_DigestFinal_ex(context, sum, &sum_length)) fail("hash");
    if (fsync(output) || close(output)) fail("sync");
    int length = snprintf(kept, sizeof kept, "%s/", arguments[2]);
    for (unsigned int i = 0; i < sum_length; i++) length += snprintf(kept + length, sizeof kept - (size_t)length, "%02x", sum[i]);
    if (rename(unfinished, kept)) fail("rename");
    int folder = open(arguments[2], O_RDONLY | O_DIRECTORY);
    if (folder < 0 || fsync(folder)) fail("sync of the folder");
    printf("{\"bytes\":%lld,\"seconds\":%.6f}\n", total, seconds() - start);
    return unlink(kept) ? 1 : 0;
}
