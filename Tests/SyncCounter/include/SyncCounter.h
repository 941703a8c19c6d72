#ifndef SYNC_COUNTER_H
#define SYNC_COUNTER_H

/// How many times this process has asked for the data of a file to be on disk. -1 where the calls can't be counted.
long sync_count(const char *path);

/// Makes the next sync of a file fail, once, as a broken disk does.
void sync_fail_next(const char *path);

#endif
