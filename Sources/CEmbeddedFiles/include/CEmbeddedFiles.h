/// The files of `Templates` and `Public`, docs/openapi.json and the files of the demo data, as they were when the program was built. Scripts/embed-files
/// writes the lists.
///
/// They are in C because literals in Swift took the compiler a minute, and these take it no time.
#ifndef C_EMBEDDED_FILES_H
#define C_EMBEDDED_FILES_H

struct embedded_file {
    const char *name;
    /// UTF-8, ended by a NUL.
    const char *text;
};

struct embedded_bytes {
    const char *name;
    const unsigned char *bytes;
    unsigned long count;
};

/// The list ends with a file without a name.
const struct embedded_file *embedded_templates(void);
/// The list ends with a file without a name.
const struct embedded_file *embedded_public(void);
/// The list ends with a file without a name.
const struct embedded_bytes *embedded_demo_files(void);
/// UTF-8, ended by a NUL.
const char *embedded_openapi(void);

#endif
